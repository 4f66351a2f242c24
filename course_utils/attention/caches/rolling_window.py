"""Positions that a rolling window with sinks leaves, and attention of many queries under it.

Source: Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, section 3.2,
    https://arxiv.org/abs/2309.17453
Ours / theirs: num_sinks = the initial tokens that are never evicted
"""

import torch
from torch import Tensor

from course_utils.attention.caches.last_queries import attend_groups
from course_utils.validation import check_at_least

ROWS = 64  # queries of a prompt that are processed together
NEVER = 2**62  # the place of a key that no query sees


def rolling_cache_positions(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List the positions that a rolling cache still holds, ascending.

    Args:
        num_seen: How many tokens there have been so far.
        window: How many of the last ones are kept.
        num_sinks: How many of the first ones are kept.
    """
    check_at_least(0, num_seen=num_seen, window=window, num_sinks=num_sinks)
    sinks = min(num_sinks, num_seen)
    return [*range(sinks), *range(max(sinks, num_seen - window), num_seen)]


def check_held(now: int, length: int, begun: list[int], window: int, num_sinks: int) -> None:
    """Raise unless a cache of `now` tokens, begun there, holds all that one of `length` holds."""
    for start in sorted(set(begun)):
        held, wanted = (
            set(rolling_cache_positions(max(end - start, 0), window, num_sinks))
            for end in (now, length)
        )
        if wanted - held:
            raise ValueError(
                f"length must be {now} or one whose window is still held, got {length}: "
                f"position {min(wanted - held)} was displaced"
            )


def attend_run(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    place: Tensor,
    own: Tensor,
    window: int,
    num_sinks: int,
) -> Tensor:
    """Return what queries read, a few at a time, so that the cost stays T · window.

    Keys (B, H_kv, S, d) are at positions `place` (B or 1, S) in their sequence, or in all of them,
    and the consecutive queries (B, H, T, d) at `own` (B or 1, T).
    """
    out = []
    for rows, here in zip(query.split(ROWS, dim=2), own.split(ROWS, dim=1), strict=True):
        near = (place < num_sinks) | (place > here[:, :1] - window)
        near = (near & (place <= here[:, -1:])).any(dim=0)
        keys, here = place[:, None, near], here.unsqueeze(-1)
        seen = (keys <= here) & ((keys < num_sinks) | (keys > here - window))
        out.append(attend_groups(rows, key[:, :, near], value[:, :, near], seen.unsqueeze(1)))
    return torch.cat(out, dim=2)
