"""Models that read one stream of tokens."""
