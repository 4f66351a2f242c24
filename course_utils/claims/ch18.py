"""Checks of the claims of chapter 18."""

import torch
from torch.nn import functional as F

from course_utils.attention import attention_weights, merge_heads, split_heads
from course_utils.claims._inputs import draw, draws
from course_utils.claims.finding import Finding, recomputes, weigh

# What the docstring of a published module promises, and a word that a name of its code would have.
PROMISED = {
    "scaled dot-product": "ScaledDotProduct",
    "multi-head": "MultiHead",
    "multi-query": "MultiQuery",
    "grouped-query": "GroupedQuery",
    "cross-attention": "Cross",
    "flash": "Flash",
    "sliding window": "SlidingWindow",
    "linear": "Linear",
    "relative positions (Shaw)": "Relative",
    "rotary positions": "Rotary",
}
# The names of its classes.
CLASSES = (
    "ScaledDotProductAttention", "MultiHeadAttention", "MultiQueryAttention",
    "GroupedQueryAttention", "SinusoidalPositionalEncoding", "LearnedPositionalEmbedding",
    "RotaryPositionalEmbedding", "SlidingWindowAttention", "LinearAttention", "CrossAttention",
    "TransformerEncoderLayer", "TransformerDecoderLayer",
)  # fmt: skip


@recomputes("18-07")
def module_implements_ten_mechanisms() -> Finding:
    """The promises of a docstring against the names of the classes below it."""
    missing = [name for name, word in PROMISED.items() if not any(word in one for one in CLASSES)]
    found = len(PROMISED) - len(missing)
    return weigh(f"{found} of {len(PROMISED)}; absent: {', '.join(missing)}", holds=not missing)


@recomputes("18-12")
def example_prints_shapes() -> Finding:
    """[2,50] tokens, [2,50,512] states, 6 layers of weights [2,8,50,50]."""
    tokens = torch.arange(100).view(2, 50)
    x, layers = draw(100, 512)[tokens], []
    for seed in range(6):
        projected = [x @ W / 512**0.5 for W in draws(*[(512, 512)] * 3, seed=seed)]
        query, key, value = (split_heads(part, 8) for part in projected)
        layers.append(attention_weights(query, key))
        x = F.layer_norm(x + merge_heads(layers[-1] @ value), (512,))
    told = list(tokens.shape), list(x.shape), len(layers), list(layers[0].shape)
    return weigh(f"{told}", holds=told == ([2, 50], [2, 50, 512], 6, [2, 8, 50, 50]))
