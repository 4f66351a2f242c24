"""Recurrent encoders and decoders, and what the decoder sees of the source."""
