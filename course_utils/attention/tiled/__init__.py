"""Attention tile by tile: the softmax that goes on, and its gradient."""
