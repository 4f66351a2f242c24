"""The card on which a reader gives a guess."""
