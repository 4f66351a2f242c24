"""The whole Transformer: layers, norms, and the wirings of encoder and decoder."""
