"""Models that see: images as tokens, objects, and pairs of image and text."""
