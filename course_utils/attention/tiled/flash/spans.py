"""Masks that show each query one interval of keys: written as two numbers per query, never a table.

Causality, windows, packed documents and any two of them together are such masks. The interval's
ends never move back from one query to the next, so that each key is seen by one interval of queries
too, and a tile of queries need not visit any tile of keys before its first row's beginning or after
its last row's end.

Source: the packed layout is that of `flash_attn_varlen_func`, whose windows and documents they are,
    https://github.com/Dao-AILab/flash-attention
Ours / theirs: lengths = differences of cu_seqlens;  window = window_size, None = -1
Differs: causality is aligned by an explicit offset; theirs is always bottom-right.
"""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.validation import check_at_least, check_instance, check_integers

Lengths = Tensor | tuple[Tensor, Tensor]
Window = tuple[int | None, int | None]


class Spans(NamedTuple):
    """Who sees whom, from both sides.

    Attributes:
        queries: Query i sees the keys from queries[0, i] to queries[1, i], which is left out.
        keys: Key j is seen by the queries from keys[0, j] to keys[1, j], which is left out.
        places: Each query's position among the keys.
    """

    queries: Int[Tensor, "2 L"]
    keys: Int[Tensor, "2 S"]
    places: Int[Tensor, " L"]


def visible_spans(
    num_queries: int,
    num_keys: int,
    is_causal: bool = False,
    offset: int | Tensor = 0,
    window: Window | None = None,
    lengths: Lengths | None = None,
    device: torch.device | None = None,
) -> Spans:
    """Return the spans of the mask that `flash_attention` makes of the same arguments.

    Args:
        num_queries: Number of queries.
        num_keys: Number of keys.
        is_causal: As in `flash_attention`, and so are offset, window and lengths.
        offset: Which key is the first query's own.
        window: How many keys before its own and after it a query sees.
        lengths: How long the documents are.
        device: Where the spans go; None is the lengths' own.
    """
    check_at_least(0, num_queries=num_queries, num_keys=num_keys)
    check_instance(bool, is_causal=is_causal)
    own, start, end = _documents(num_queries, num_keys, lengths, offset)
    before, after = _sides(window)
    after = 0 if is_causal else after
    low = start if before is None else (own - before).clamp(start, end)
    limit = end if after is None else (own + after + 1).clamp(start, end)
    # The keys below a limit are those that its query, and all later ones, may see.
    key = torch.arange(num_keys, device=low.device)
    first, stop = (torch.searchsorted(edge, key, right=True) for edge in (limit, low))
    made = torch.stack((low, limit)), torch.stack((first, stop)), own
    return Spans(*(x.to(device, torch.int32).contiguous() for x in made))


def count_tiles(spans: Spans, block_q: int, block_k: int) -> tuple[int, int, int]:
    """Return how many tiles a head's forward pass visits, how many of these it masks, and all.

    Args:
        spans: Who sees whom.
        block_q: Queries of a tile.
        block_k: Keys of a tile.
    """
    check_at_least(1, block_q=block_q, block_k=block_k)
    (low, limit), num_keys = spans.queries.long(), spans.keys.shape[1]
    first = torch.arange(0, low.shape[0], block_q)
    last = (first + block_q).clamp(max=low.shape[0]) - 1
    begin, stop = low[first] // block_k, -(limit[last] // -block_k)
    inner = -(low[last] // -block_k)
    whole = torch.minimum(limit[first] // block_k, stop)
    visited = (stop - begin).clamp(min=0)
    uncut = (whole - torch.maximum(inner, begin)).clamp(min=0)
    every = len(first) * -(num_keys // -block_k)
    return int(visited.sum()), int((visited - uncut).sum()), every


def _documents(
    num_queries: int, num_keys: int, lengths: Lengths | None, offset: int | Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return for each query its own key, and where the keys of its document begin and end."""
    if lengths is None:
        lengths = torch.tensor([num_queries]), torch.tensor([num_keys])
    both = lengths if isinstance(lengths, tuple) else (lengths, lengths)
    if len(both) != 2:
        raise ValueError(f"lengths must be one tensor or two, got {len(both)}")
    for name, given, total in zip(("queries", "keys"), both, (num_queries, num_keys), strict=True):
        check_integers("documents", lengths=given)
        if int(given.sum()) != total or bool((given < 0).any()) or len(given) != len(both[0]):
            raise ValueError(
                f"the lengths of the {name} must be at least 0, one for each document, and sum to "
                f"{total}, got {given.tolist()}"
            )
    document = torch.arange(len(both[0]), device=both[0].device).repeat_interleave(both[0])
    starts = [(given.cumsum(0) - given)[document] for given in both]
    shift = _shifts(offset, both[0])[document]
    own = torch.arange(num_queries, device=document.device) + starts[1] - starts[0] + shift
    return own, starts[1], starts[1] + both[1][document]


def _shifts(offset: int | Tensor, like: Tensor) -> Tensor:
    if not isinstance(offset, Tensor):
        check_instance(int, offset=offset)
        return torch.full_like(like, offset)
    check_integers("documents", offset=offset)
    if offset.shape != like.shape:
        raise ValueError(
            f"offset must have a number for each of {len(like)} documents, got {len(offset)}"
        )
    return offset


def _sides(window: Window | None) -> Window:
    if window is None:
        return None, None
    check_instance(tuple, window=window)
    if len(window) != 2:
        raise ValueError(f"window must be a pair: keys before, keys after, got {window}")
    for side in window:
        if side is not None:
            check_at_least(0, window=side)
    return window
