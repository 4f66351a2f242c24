"""Masks that depend only on positions: causal, padding, sliding window.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.3 (causal),
    https://arxiv.org/abs/1706.03762; Jiang et al. 2023, Mistral 7B, section 2 (window),
    https://arxiv.org/abs/2310.06825
Ours / theirs: True = may attend;  offset = number of keys before the first query;  window = W
Differs: the alignment for L != S is given by `offset` and never guessed.
Same contract as: `is_causal=True` of torch's SDPA, which is offset 0 (upper left), also for L != S
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_utils.validation import check_at_least, check_int, check_integers


def causal_mask(num_queries: int, num_keys: int, offset: int = 0) -> Bool[Tensor, "L S"]:
    """Return the mask in which query i sees the keys up to i + offset.

    Args:
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        offset: The first query's position among the keys: `num_keys - num_queries` when the keys
            of earlier steps were kept. Where i + offset is below 0, a query sees nothing.
    """
    own, place = _positions(num_queries, num_keys, offset)
    return place <= own


def padding_mask(lengths: Int[Tensor, " batch"], num_keys: int) -> Bool[Tensor, "batch 1 1 S"]:
    """Return the mask in which every query of a sequence sees its real keys, the first ones.

    Args:
        lengths: How many keys of each sequence are real.
        num_keys: How many keys there are, padding included.

    Raises:
        ValueError: A length is not from 0 to num_keys.
    """
    check_integers("batch", lengths=lengths)
    return first_keys(lengths, num_keys)[:, None, None, :]


def window_mask(
    num_queries: int, num_keys: int, window: int, offset: int = 0
) -> Bool[Tensor, "L S"]:
    """Return the causal mask in which a query sees the last `window` keys, its own among them.

    The window is at least 1, and the key at i + offset counts. The rest is as in `causal_mask`.
    """
    check_at_least(1, window=window)
    own, place = _positions(num_queries, num_keys, offset)
    return (place <= own) & (place > own - window)


def first_keys(lengths: Int[Tensor, "*axes"], num_keys: int) -> Bool[Tensor, "*axes S"]:
    """Return for each length a row in which that many keys, the first ones, are seen."""
    check_at_least(0, num_keys=num_keys)
    outside = lengths[(lengths < 0) | (lengths > num_keys)]
    if len(outside):
        raise ValueError(
            f"lengths must lie between 0 and num_keys = {num_keys}, got {outside[0].item()}"
        )
    return torch.arange(num_keys, device=lengths.device) < lengths.unsqueeze(-1)


def _positions(num_queries: int, num_keys: int, offset: int) -> tuple[Tensor, Tensor]:
    check_at_least(0, num_queries=num_queries, num_keys=num_keys)
    check_int(offset=offset)
    return torch.arange(num_queries).unsqueeze(-1) + offset, torch.arange(num_keys)
