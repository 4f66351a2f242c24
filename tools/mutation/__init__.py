"""What the checkers catch: every mistake they know, and every small change of the references."""
