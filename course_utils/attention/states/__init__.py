"""What comes after attention: a state that is rewritten with every token."""
