"""Attention that looks at less: fewer keys, heads or dimensions."""
