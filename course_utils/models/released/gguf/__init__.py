"""The one model that the course fetches: its file, its blocks, and what runs on them."""
