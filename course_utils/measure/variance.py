"""Variance of dot products: the reason for the scale 1/√d_k.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.1, footnote 4,
    https://arxiv.org/abs/1706.03762
Ours / theirs: query, key = q, k
"""

import torch

from course_utils.validation import check_at_least, check_instance


def dot_product_variance(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Estimate the variance of q·k from random pairs of unit normal vectors.

    Args:
        d_k: Width of both vectors.
        num_samples: How many pairs to draw.
        generator: The only source of randomness.
    """
    check_at_least(1, d_k=d_k)
    check_at_least(2, num_samples=num_samples)
    check_instance(torch.Generator, generator=generator)
    query = torch.randn(num_samples, d_k, generator=generator)
    key = torch.randn(num_samples, d_k, generator=generator)
    return float((query * key).sum(dim=-1).var())
