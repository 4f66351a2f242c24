"""What learners wrote: their answers, kept as files and put in the place of the course's own."""
