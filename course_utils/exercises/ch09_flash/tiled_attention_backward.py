"""Exercise: the backward pass of attention, a tile at a time."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention.tiled import tiled_attention, tiled_attention_backward
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch09_flash import _tile_costs
from course_utils.exercises.ch09_flash._back_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch09_flash._back_way_mistakes import (
    FUTURE,
    KEPT,
    LARGE,
    MASK,
    OPERATOR,
    WHOLE,
)

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    lengths: tuple[int, int],
    blocks: tuple[int, int],
    *flag: bool,
    heads: tuple[int, int] = (2, 3),
    d: int = 4,
    size: float = 1.0,
    level: float = 0.0,
    dtype: str = "float64",
) -> Make:
    """Make inputs of the lengths (L, S), what the forward pass made of them, and grad_out.

    Args:
        lengths: How many queries and keys there are.
        blocks: How many of them a tile has.
        flag: Whether attention is causal, if said.
        heads: The batch and the number of heads.
        d: The width of all vectors.
        size: The standard deviation of query and key.
        level: What is added to all scores.
        dtype: The type of all tensors.
    """
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *heads, lengths[0], d, size=size)
        key = normal(g, *heads, lengths[1], d, size=size)
        if level:
            top = (abs(level) * d**0.5) ** 0.5
            query[..., 0], key[..., 0] = top, math.copysign(top, level)
        value, grad = (normal(g, *heads, lengths[i], d) for i in (1, 0))
        out, lse = tiled_attention(query, key, value, *lengths, *flag)
        parts = (query, key, value, out, lse, grad)
        return *(x.to(kind) for x in parts), *blocks, *flag

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    *parts, block_q, block_k, flag = _made((7, 6), (3, 4), True)(g)
    query, key, value, out, lse, grad = parts
    side_by_side = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, out, grad)]
    query, out, grad = side_by_side
    return query, strided(key), strided(value), out, lse.clone(), grad, block_q, block_k, flag


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, *blocks = _tile_costs.inputs(length, g)
    grad = normal(g, *query.shape, dtype=torch.float32)
    return query, key, value, *tiled_attention(query, key, value, *blocks), grad, *blocks


def _doubled(g: torch.Generator) -> tuple[Tensor | int, ...]:
    """Make a grad_out of thousands."""
    *parts, grad, block_q, block_k = _made((5, 8), (2, 3), d=6)(g)
    return *parts, 3000.0 * grad, block_q, block_k


EXERCISE = Exercise(
    name="tiled_attention_backward",
    chapter=9,
    signature=(
        "tiled_attention_backward(query, key, value, out, lse, grad_out, block_q, block_k, "
        "is_causal=False)"
    ),
    asks="Give the gradients of query, key and value from out and lse, a tile at a time.",
    reference=tiled_attention_backward,
    minutes=30,
    difficulty=5,
    importance=4,
    parts=("dq", "dk", "dv"),
    # No case has a row all of whose gradient is rounding: so does a saturated row's, and in causal
    # float32 the first one's.
    cases=(
        Case("one tile", _made((3, 4), (3, 4), d=5)),
        Case("two tiles of keys", _made((3, 4), (3, 2), d=5)),
        Case("two tiles of queries", _made((4, 3), (2, 3), d=5)),
        Case("2 × 3 tiles of 2 × 3", _made((4, 9), (2, 3), d=5)),
        Case("more queries than keys", _made((8, 4), (4, 2), d=6)),
        Case("a last tile of keys that is short", _made((4, 7), (2, 3), d=5)),
        Case("a last tile of queries that is short", _made((7, 4), (3, 2), d=5)),
        Case("both last tiles short", _made((5, 11), (3, 4), False, d=6)),
        Case("tiles larger than the input", _made((5, 6), (16, 32), d=4)),
        Case("tiles of one score", _made((4, 5), (1, 1), d=3)),
        Case("one head, 4 everywhere", _made((4, 4), (2, 2), heads=(1, 1))),
        Case("4 sequences, 4 heads", _made((5, 6), (2, 3), heads=(4, 4), d=3)),
        Case("one of everything", _made((1, 1), (1, 1), heads=(1, 1), d=1)),
        Case("causal, one tile", _made((4, 4), (4, 4), True, d=5)),
        Case("causal, 8 tokens in tiles of 2 × 2", _made((8, 8), (2, 2), True, d=5)),
        Case("causal, tiles of 2 × 4", _made((8, 8), (2, 4), True, d=3)),
        Case("causal, tiles of 4 × 2", _made((8, 8), (4, 2), True, d=3)),
        Case("causal, 11 tokens in tiles of 3 × 4", _made((11, 11), (3, 4), True, d=5)),
        Case("causal, 5 queries, 9 keys", _made((5, 9), (2, 3), True, d=4)),
        Case("causal, 9 queries, 5 keys", _made((9, 5), (2, 3), True, d=4)),
        Case("causal, tiles larger than the input", _made((6, 7), (9, 8), True, d=5)),
        Case("scores of tens", _made((5, 8), (2, 3), d=6, size=2.5)),
        Case("scores of tens, causal", _made((6, 8), (2, 3), True, d=6, size=2.0)),
        Case("all scores near -2,000", _made((5, 6), (2, 4), d=4, level=-2000.0)),
        Case("all scores near -800, causal", _made((5, 6), (2, 4), True, d=4, level=-800.0)),
        Case("all scores near 2,000", _made((5, 6), (2, 4), d=4, level=2000.0)),
        Case("a grad_out of thousands", _doubled),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made((9, 7), (4, 3), d=16, dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made((4, 7), (2, 3), d=8, dtype="bfloat16"), tolerance=0.6),
    ),
    misconceptions=MISCONCEPTIONS,
    costs=_tile_costs.costs(_long, OPERATOR, WHOLE, LARGE, MASK, KEPT, FUTURE),
    hints=(
        "The forward pass kept no weights. Which number of each query is enough to make a tile's "
        "weights again, without a maximum and without a second pass?",
        "In a tile it is chapter 03's backward pass: weights, their gradient, the softmax, and "
        "three products. Only the row average needs the whole row.",
        "That average, of the weights' gradients under the weights, is the sum of grad_out times "
        "out along the width: it is known before the first tile.",
        "A tile adds to three places: to the rows of dq that are its queries, and to the rows of "
        "dk and dv that are its keys. Begin all three with zeros.",
        "The scale that the scores had on the way there multiplies their gradient on the way back, "
        "for dq and dk alike. What lies in the future has weight 0, and no gradient.",
    ),
)
