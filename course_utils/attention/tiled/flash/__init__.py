"""FlashAttention in Triton: one source for the GPU and for the interpreter."""
