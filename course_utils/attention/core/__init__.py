"""Softmax attention itself: scores, weights, heads, projections, and what goes around them."""
