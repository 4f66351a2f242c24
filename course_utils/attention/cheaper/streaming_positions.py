"""Streaming without end: where in a cache of sinks and a window each key is.

Source: Xiao et al. 2024, Efficient Streaming Language Models with Attention Sinks, section 3.2,
    https://arxiv.org/abs/2309.17453
Ours / theirs: num_sinks = number of initial tokens (4 in the paper); window = rolling cache size
"""

import torch
from jaxtyping import Int64
from torch import Tensor

from course_utils.plain_validation import check_at_least


def streaming_positions(
    num_tokens: int, window: int, num_sinks: int
) -> Int64[Tensor, "num_tokens num_tokens"]:
    """Return the place in the cache of key j when query i has just been appended, in entry [i, j].

    The cache holds the first `num_sinks` keys and the last `window`, in the order of the text and
    without gaps. RoPE rotates by these places, the query by its own key's: then no distance
    exceeds num_sinks + window - 1, however long the text.

    Args:
        num_tokens: The length of the text.
        window: How many of the last keys are held, the query's own among them.
        num_sinks: How many of the first keys are held for good.

    Returns:
        Places from 0; -1 where a key is not held.
    """
    check_at_least(0, num_tokens=num_tokens, num_sinks=num_sinks)
    check_at_least(1, window=window)
    keys = torch.arange(num_tokens)
    queries = keys.unsqueeze(-1)
    held = (keys <= queries) & ((keys < num_sinks) | (keys > queries - window))
    return (held.cumsum(dim=-1) - 1).masked_fill(~held, -1)
