"""How much dot products scatter: the number behind the scale 1/√d_k.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.1, footnote 4,
    https://arxiv.org/abs/1706.03762
Ours / theirs: query, key = q, k
"""

import torch


def dot_product_variance(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Estimate the variance of q·k from random pairs of unit normal vectors.

    Args:
        d_k: Width of both vectors.
        num_samples: How many pairs to draw.
        generator: The only source of randomness.

    Raises:
        ValueError: d_k is below 1, or num_samples below 2.
    """
    if d_k < 1:
        raise ValueError(f"d_k must be at least 1, got {d_k}")
    if num_samples < 2:
        raise ValueError(f"a variance needs at least 2 samples, got {num_samples}")
    query = torch.randn(num_samples, d_k, generator=generator)
    key = torch.randn(num_samples, d_k, generator=generator)
    return float((query * key).sum(dim=-1).var())
