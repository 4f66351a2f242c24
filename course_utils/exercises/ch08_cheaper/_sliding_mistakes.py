"""What goes wrong in sliding-window attention."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import sliding_window_attention
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._mask_mistakes import MASK
from course_utils.exercises.ch03_scaled_dot_product._value_mistakes import VALUES
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes
from course_utils.exercises.ch06_masks._window_mistakes import EDGES
from course_utils.exercises.ch06_masks._window_place_mistakes import PLACES
from course_utils.exercises.ch08_cheaper._lifted import lifted
from course_utils.exercises.ch08_cheaper._window import build, gathered, inside, seen
from course_utils.exercises.ch08_cheaper._window_dear import DENSE

# What concerns the mask as a tensor, or is the same as another mistake once it hides scores.
_NO_MASK = {
    "numbers instead of booleans",
    "numbers to add instead of booleans",
    "inverted",
    "a loop that leaves one out",
    "axes added or missing",
    "`|` for `&`",
}
_SAME_HERE = {
    "one mask for all batches",
    "one mask for all queries",
    "always causal",
    "mask transposed",
    "mask before the scale",
    "the root of the width of the values",
}


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
SCALE = (
    Misconception(
        "no scale",
        inside(factor=lambda q, k, v: 1.0),
        "The weights are those of unscaled scores: too sharp. By what does q·k grow with d?",
    ),
    Misconception(
        "divided by d",
        inside(factor=lambda q, k, v: 1 / q.shape[-1]),
        "The scores are divided by d, so the weights are too even. Whose root is it?",
    ),
    Misconception(
        "multiplied by the root of d",
        inside(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
        "The scale makes the scores larger, not smaller. Which way should it push them?",
    ),
    Misconception(
        "the root of the wrong size",
        gathered(lambda b, n, w: b.clamp(min=0), scale=lambda d, window: window**-0.5),
        "The scale is a root, but not of the width of a head. Over how many products does one "
        "score sum?",
        also=(
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1] * q.shape[-1])),
            inside(factor=lambda q, k, v: q.shape[-1] ** -0.25),
        ),
    ),
    Misconception(
        "scale after softmax",
        inside(scale_last=True),
        "The weights of a row sum to the scale, not to 1: it was applied to the weights "
        "themselves. Which numbers is it meant to keep small?",
    ),
)
SOFTMAX = (
    Misconception(
        "softmax over the heads",
        inside(turn=lambda scores: torch.softmax(scores, 1)),
        "The heads share 1 out among themselves. Each head has 1 to give, and gives it to keys: "
        "which axis, counted from the end?",
        also=(inside(turn=lambda scores: torch.softmax(scores, 0)),),
    ),
    *(
        mistake
        for mistake in softmax_mistakes(inside)
        if mistake.name != "softmax over an axis counted from the front"
    ),
)
_FROM_THE_END = next(m for m in PLACES if m.name == "negative index counted from the end")

MISCONCEPTIONS = (
    *lifted(EDGES, lambda mask: build(mask=mask), _NO_MASK),
    Misconception(
        _FROM_THE_END.name,
        build(mask=_FROM_THE_END.wrong),
        _FROM_THE_END.says,
        also=(build(mask=_FROM_THE_END.also[-1]),),
    ),
    *BLOCKS,
    *SCALE,
    *SOFTMAX,
    *lifted((*VALUES, *MASK), lambda fn: build(attend=fn), _SAME_HERE),
    DENSE,
)
