"""Learners' answers, kept as files and used instead of the course's functions."""
