"""Exercise: attention a tile at a time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention.tiled import tiled_attention
from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch09_flash import _tile_costs
from course_utils.exercises.ch09_flash._tile_way_mistakes import (
    FUTURE,
    KEPT,
    LARGE,
    MASK,
    OPERATOR,
    WHOLE,
)
from course_utils.exercises.ch09_flash._tiled_mistakes import MISCONCEPTIONS

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    lengths: tuple[int, int],
    blocks: tuple[int, int],
    *flag: bool,
    heads: tuple[int, int] = (2, 3),
    d: int = 4,
    size: float = 1.0,
    slope: float = 0.0,
    level: float = 0.0,
    dtype: str = "float64",
) -> Make:
    """Make inputs of the lengths (L, S) and the block sizes.

    Args:
        lengths: How many queries and keys there are.
        blocks: How many of them a tile has.
        flag: Whether attention is causal, if said.
        heads: The batch and the number of heads.
        d: The width of all vectors.
        size: The standard deviation of query and key.
        slope: By how much the scores rise from key to key.
        level: What is added to all scores.
        dtype: The type of all tensors.
    """
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, *heads, lengths[0], d, size=size, dtype=kind)
        key = normal(g, *heads, lengths[1], d, size=size, dtype=kind)
        if slope or level:
            query[..., 0] = 1.0
            key[..., 0] = (slope * torch.arange(lengths[1]) + level).to(kind) * d**0.5
        return query, key, normal(g, *heads, lengths[1], d, dtype=kind), *blocks, *flag

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key, value, *rest = _made((7, 6), (3, 4), True)(g)
    side_by_side = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, value))
    query, value = side_by_side
    return query, strided(key), value, *rest


def _slopes(tiled: Function, *args: Any) -> Tensor:
    """Return what autograd finds for the inputs, side by side; NaN where nothing is tied to them.

    Where results are written into tensors that were read before, autograd cannot go back: then
    nothing is found wrong, since this chapter's backward pass is written by hand.
    """
    with torch.enable_grad():
        given = [x.detach().requires_grad_() for x in args[:3]]
        out, lse = tiled(*given, *args[3:])
        weights = torch.linspace(-1.0, 1.0, out.numel(), dtype=out.dtype).view_as(out)
        loss = (out * weights).sum() + (lse * weights[..., 0].cos()).sum()
        if not out.requires_grad or not lse.requires_grad:
            return torch.full((sum(x.numel() for x in given),), torch.nan, dtype=out.dtype)
        try:
            grads = torch.autograd.grad(loss, given, allow_unused=True, materialize_grads=True)
        except RuntimeError as error:
            if tiled is tiled_attention or "inplace operation" not in str(error):
                raise
            return _slopes(tiled_attention, *args)
    return torch.cat([grad.flatten() for grad in grads])


EXERCISE = Exercise(
    name="tiled_attention",
    chapter=9,
    signature="tiled_attention(query, key, value, block_q, block_k, is_causal=False)",
    asks="Compute exact attention and its logsumexp, with a tile of scores at a time.",
    reference=tiled_attention,
    minutes=30,
    difficulty=4,
    importance=5,
    parts=("out", "lse"),
    cases=(
        Case("one tile", _made((3, 4), (3, 4), d=5)),
        Case("two tiles of keys", _made((3, 4), (3, 2), d=5)),
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
        Case("causal, tiles of one score", _made((4, 4), (1, 1), True, d=3)),
        Case("scores of thousands", _made((5, 8), (2, 3), d=6, size=40.0)),
        Case("scores that rise by 300 a key", _made((4, 7), (3, 2), d=5, slope=300.0)),
        Case("scores that fall by 300 a key", _made((4, 7), (3, 2), True, d=5, slope=-300.0)),
        Case("all scores near -20,000, causal", _made((5, 6), (2, 4), True, d=4, level=-2e4)),
        Case("all scores near 2,000", _made((5, 6), (2, 4), d=4, level=2000.0)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case(
            "what autograd finds",
            _made((5, 7), (2, 3), d=4),
            run=_slopes,
            says=(
                "out and lse are right, but the gradients that autograd finds through them are "
                "not, or one of them is cut off from query, key and value. What cuts the thread "
                "(`.detach()`, `.item()`, `torch.no_grad()`, numpy)?"
            ),
        ),
        Case("float32", _made((9, 7), (4, 3), d=16, dtype="float32"), tolerance=1e-4),
        Case("float32, causal", _made((7, 9), (4, 3), True, d=8, dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made((4, 7), (2, 3), d=8, dtype="bfloat16"), tolerance=0.4),
    ),
    misconceptions=MISCONCEPTIONS,
    costs=_tile_costs.costs(_tile_costs.inputs, OPERATOR, WHOLE, LARGE, MASK, KEPT, FUTURE),
    hints=(
        "Two loops: over blocks of queries, and inside over blocks of keys. What must a block of "
        "queries remember from one tile of keys to the next?",
        "The step of the online softmax does all of it: begin with -inf, 0 and 0, hand it each "
        "tile's scaled scores and its values, and divide once at the end.",
        "A slice that runs past the end is simply shorter in Python: a last tile needs no padding. "
        "The loop over keys runs to S, the one over queries to L.",
        "For a causal tile compare the places themselves, counted from the start of the sequence. "
        "When does even the last query of a block not see the first key of a tile?",
        "The logsumexp is the running maximum plus the logarithm of the running sum, as they stand "
        "after the last tile.",
    ),
)
