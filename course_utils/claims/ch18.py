"""Checks of the claims of chapter 18."""

import torch
from torch.nn import functional as F

from course_utils.attention import attention_weights, merge_heads, split_heads
from course_utils.claims._inputs import draw, draws
from course_utils.claims.finding import Finding, recomputes, weigh


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
