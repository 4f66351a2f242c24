"""Position masks beyond the causal window: a band on both sides, and chunks.

Source: Beltagy et al. 2020, Longformer, section 3.1 (a window to both sides),
    https://arxiv.org/abs/2004.05150; Child et al. 2019, Generating Long Sequences with Sparse
    Transformers, section 4.3 (causal blocks), https://arxiv.org/abs/1904.10509
Ours / theirs: left, right = window_size of flash-attn, whose -1 is None here;  chunk =
    attention_chunk_size of Llama 4;  offset = num_keys - num_queries for bottom-right alignment
Differs: the alignment for L != S is given by `offset` and never guessed.
Same contract as: xformers' LocalAttentionFromBottomRightMask, with an explicit offset
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from course_utils.attention.masks.causal import causal_mask
from course_utils.validation import check_at_least


def band_mask(
    num_queries: int, num_keys: int, left: int | None, right: int | None, offset: int = 0
) -> Bool[Tensor, "L S"]:
    """Return the mask in which query i sees the keys from i + offset - left to i + offset + right.

    `right=0` is a causal window of left + 1 keys, `left=None, right=0` is the plain causal mask.

    Args:
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        left: How many keys before its own position a query sees; None is all.
        right: How many keys after its own position a query sees; None is all.
        offset: The first query's position among the keys.
    """
    seen = torch.ones_like(causal_mask(num_queries, num_keys, offset))
    if left is not None:
        check_at_least(0, left=left)
        seen &= ~causal_mask(num_queries, num_keys, offset - left - 1)
    if right is not None:
        check_at_least(0, right=right)
        seen &= causal_mask(num_queries, num_keys, offset + right)
    return seen


def chunk_mask(num_queries: int, num_keys: int, chunk: int, offset: int = 0) -> Bool[Tensor, "L S"]:
    """Return the causal mask in which a query sees only keys of its own chunk of positions.

    A chunk has `chunk` positions, at least 1. Chunks are fixed, from key 0 on; a window moves
    with the query. The other arguments and the errors are as in `band_mask`.
    """
    check_at_least(1, chunk=chunk)
    past = causal_mask(num_queries, num_keys, offset)
    own = (torch.arange(num_queries) + offset) // chunk
    return past & (torch.arange(num_keys) // chunk == own.unsqueeze(-1))
