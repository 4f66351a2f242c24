"""A tiled backward pass whose values are right, and which holds or computes more than a tile."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash import _tile_way_mistakes as forward
from course_utils.exercises.ch09_flash._walking import Place, cut
from course_utils.exercises.ch09_flash._walking import build as walk
from course_utils.exercises.ch09_flash._walking_back import build, through


def differentiated(attend: Callable[..., Tensor]) -> Function:
    """Return what autograd makes of a forward pass that takes (q, k, v, block_q, block_k, flag)."""

    def wrong(
        q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, grad: Tensor, *rest: Any
    ) -> Any:
        with torch.enable_grad():
            given = [x.detach().requires_grad_() for x in (q, k, v)]
            return torch.autograd.grad(attend(*given, *rest), given, grad)

    return wrong


def _by_torch(q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def _by_softmax(
    q: Tensor, k: Tensor, v: Tensor, bq: int, bk: int, is_causal: bool = False
) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if is_causal:
        scores = scores.masked_fill(~causal_mask(q.shape[2], k.shape[2]), -torch.inf)
    return scores.softmax(-1) @ v


def _by_tiles(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tensor:
    result: Tensor = walk()(q, k, v, *rest)[0]
    return result


def _full(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, grad: Tensor,
    bq: int, bk: int, is_causal: bool = False,
) -> Any:  # fmt: skip
    """Walk back over all pairs at once."""
    return build(
        rows=lambda length, block: [(0, length)],
        columns=lambda length, block: [(0, length)],
    )(q, k, v, out, lse, grad, bq, bk, is_causal)


def _sliced_mask(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, grad: Tensor,
    bq: int, bk: int, is_causal: bool = False,
) -> Any:  # fmt: skip
    mask = causal_mask(q.shape[2], k.shape[2])

    def hidden(i: Tensor, j: Tensor, at: Place) -> Tensor:
        return ~mask[at.q0 : at.q1, at.k0 : at.k1]

    return build(hidden=hidden)(q, k, v, out, lse, grad, bq, bk, is_causal)


def _weights_kept(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, grad: Tensor, *rest: Any
) -> Any:
    """Hold on to every tile's weights until the end."""
    kept: list[Tensor] = []

    def through_kept(weights: Tensor, slope: Tensor, delta: Tensor) -> Tensor:
        kept.append(weights)
        return through(weights, slope, delta)

    return build(through=through_kept)(q, k, v, out, lse, grad, *rest)


OPERATOR = Misconception(
    "plain SDPA inside",
    differentiated(_by_torch),
    "The gradients are right, but they are those of torch's own attention, which was handed more "
    "than one tile. It walks back over tiles by itself; here that is your work. What do out and "
    "lse say that a tile can begin with?",
)
WHOLE = Misconception(
    "the full matrix",
    _full,
    "The gradients are right, but all L × S weights are there at once: this is plain attention's "
    "backward pass, whatever loops stand around it. How many may exist at the same time?",
    also=(differentiated(_by_softmax),),
)
LARGE = Misconception(
    "more than a tile at once",
    build(columns=lambda length, block: [(0, length)]),
    "The gradients are right, but a piece of weights larger than block_q × block_k was made: a "
    "block of queries against all keys, a block of keys against all queries, or a block of a size "
    "that nobody asked for. Which two loops does a tile need?",
    also=(
        build(rows=lambda length, block: [(0, length)]),
        build(rows=lambda length, block: cut(length, 128)),
        build(columns=lambda length, block: cut(length, 64)),
    ),
)
MASK = Misconception("a mask of all pairs", _sliced_mask, forward.MASK.says)
KEPT = Misconception(
    "every tile kept",
    differentiated(_by_tiles),
    "No tile is too large, but all of them are there at once, in a list or in autograd's memory, "
    "which keeps what every tile computed: together they are the full matrix. What can be computed "
    "again, instead of kept?",
    also=(_weights_kept,),
)
FUTURE = Misconception(
    "future tiles computed",
    build(skip=lambda at: False),
    "The gradients are right, but tiles that lie wholly in the future are computed and then "
    "hidden: half of the work for nothing. From which first key on can a block of queries stop?",
    also=(
        build(skip=lambda at: at.k0 > at.q1),
        build(skip=lambda at: at.k0 > at.q1 + at.block_k - 1),
    ),
)
WAYS = (OPERATOR, WHOLE, LARGE, MASK, KEPT, FUTURE)
