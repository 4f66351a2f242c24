"""Successors of attention: a state that is rewritten with every token."""
