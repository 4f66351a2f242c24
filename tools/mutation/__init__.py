"""Test what the checkers catch: every mistake, and every small change of a reference."""
