"""Attention over images, and between images and text."""
