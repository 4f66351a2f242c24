"""What goes wrong where a window is walked in runs of queries, or padded to whole blocks."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import sliding_window_attention
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._window import gathered, seen


def _whole_block_before(i: Tensor, j: Tensor, window: int) -> Tensor:
    return (j <= i) & (j // window >= i // window - 1)


def _zeros(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    """Let what was padded on the left take part: keys and values of zeros."""
    out = sliding_window_attention(query, key, value, window)
    length, root = query.shape[-2], math.sqrt(query.shape[-1])
    scores = (query @ key.mT / root).tril().triu(1 - window)
    exps = torch.where(torch.ones(length, length).tril().triu(1 - window) > 0, scores.exp(), 0.0)
    total = exps.sum(-1, keepdim=True)
    missing = (window - 1 - torch.arange(length)).clamp(min=0).unsqueeze(-1)
    return out * total / (total + missing)


def _rest_dropped(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    out = sliding_window_attention(query, key, value, window)
    full = query.shape[-2] // window * window
    return out * (torch.arange(query.shape[-2]) < full).to(out.dtype).unsqueeze(-1)


def _rest_missing(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    out = sliding_window_attention(query, key, value, window)
    return out[:, :, : query.shape[-2] // window * window]


def _start_empty(query: Tensor, key: Tensor, value: Tensor, window: int) -> Any:
    out = sliding_window_attention(query, key, value, window)
    return out * (torch.arange(query.shape[-2]) >= window - 1).to(out.dtype).unsqueeze(-1)


def _run_alone(run: int) -> Any:
    """Return attention in runs that were given no key from before the run."""
    return seen(lambda i, j, w: (j <= i) & (j > i - w) & (j >= i // run * run))


def _mask_of_a_full_run(run: int | None, upper: bool = True) -> Any:
    """Return attention whose mask counts the keys of a run from its first, wherever that lies."""

    def rule(i: Tensor, j: Tensor, window: int) -> Tensor:
        start = i // (run or window) * (run or window)
        first = (start - window + 1).clamp(min=0)
        row, column = i - start, j - first
        inside_run = (column >= 0) & (j < start + (run or window))
        early = column >= row if upper else torch.ones_like(column, dtype=torch.bool)
        return inside_run & early & (column < row + window)

    return seen(rule)


def _run_unmasked(run: int | None) -> Any:
    """Return attention in runs of queries that see all keys which the run needs."""

    def rule(i: Tensor, j: Tensor, window: int) -> Tensor:
        start = i // (run or window) * (run or window)
        return (j > start - window) & (j < start + (run or window))

    return seen(rule)


BLOCKS = (
    Misconception(
        "no mask inside a run",
        _run_unmasked(64),
        "All queries of a run see all keys that the run was given, the future among them. Inside "
        "a run each query still has a window of its own: what hides the rest?",
        also=tuple(_run_unmasked(run) for run in (2, 3, 4, 5, 8, 16, 32, 128, None)),
    ),
    Misconception(
        "nothing from before the run",
        _run_alone(64),
        "The first queries of a run miss the keys that lie before it: each run was given its own "
        "keys alone. Which keys does the first query of a run see?",
        also=tuple(_run_alone(run) for run in (2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 128)),
    ),
    Misconception(
        "the mask of a full run at the beginning",
        _mask_of_a_full_run(None),
        "The mask of a run counts from its first key, and the first runs have fewer keys before "
        "them than the others, so "
        "their bands are shifted. How far back does the slice begin there?",
        also=(
            *(_mask_of_a_full_run(run) for run in (2, 3, 4, 5, 8, 16, 32, 64, 128)),
            *(_mask_of_a_full_run(run, upper=False) for run in (None, 2, 3, 4, 5, 8, 16, 32)),
        ),
    ),
    Misconception(
        "the whole block before seen",
        seen(_whole_block_before),
        "Each query sees all of the block before its own, so most see more than `window` keys. Two "
        "blocks hold all that a query may see, and more: what is still to be hidden?",
        also=(seen(lambda i, j, w: (j // w <= i // w) & (j // w >= i // w - 1)),),
    ),
    Misconception(
        "padding counted as keys",
        _zeros,
        "The first queries come out too small: the zeros that were put before the first key take "
        "part in the softmax, and exp(0) is 1. What hides a key that is none?",
        also=(gathered(lambda back, length, w: back.clamp(min=0), lambda back, n: back > n),),
    ),
    Misconception(
        "the window wraps around",
        gathered(lambda back, length, w: back % length, lambda back, n: back > n),
        "The first queries see the last keys, as on a ring: `roll` and negative indices go on at "
        "the other end. What lies before the first key?",
    ),
    Misconception(
        "queries left over",
        _rest_dropped,
        "The last queries, which fill no whole block, got nothing. What becomes of L mod block "
        "rows?",
        also=(_rest_missing,),
    ),
    Misconception(
        "no output before the window is full",
        _start_empty,
        "The first window - 1 queries got zeros. They have fewer keys, but they have some: which "
        "does query 0 see?",
    ),
)
