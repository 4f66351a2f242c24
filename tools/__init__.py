"""What builds and checks the course. Nothing here is needed to take it."""
