"""Mistakes that many exercises have in common, as lines; each file says which names they speak of."""
