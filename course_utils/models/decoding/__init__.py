"""Writing text with a model: greedy, drawn, by beam search, or with a draft's guesses."""
