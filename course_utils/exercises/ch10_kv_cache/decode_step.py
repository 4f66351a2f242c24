"""Exercise: attention of new positions to a cache that holds their keys already."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import decode_step
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal
from course_utils.exercises.ch08_cheaper._averages import IS_AVERAGE
from course_utils.exercises.ch10_kv_cache._decode_head_mistakes import HEADS
from course_utils.exercises.ch10_kv_cache._decode_mistakes import SLOTS
from course_utils.exercises.ch10_kv_cache._decode_way_mistakes import SCALES, WAYS

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    new: int,
    length: int,
    slots: int = 9,
    sizes: tuple[int, int, int] = (2, 3, 4),
    size: float = 1.0,
    dtype: torch.dtype = torch.float64,
    free: float | None = None,
) -> Make:
    """Make queries of (B, H, d) and a cache whose free slots hold numbers, or what `free` says."""
    batch, heads, width = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, heads, new, width, size=size, dtype=dtype)
        key = normal(g, batch, heads, slots, width, size=size, dtype=dtype)
        value = normal(g, batch, heads, slots, width, dtype=dtype)
        if free is not None:
            key[:, :, length:] = value[:, :, length:] = free
        return query, key, value, length

    return make


def _loud_future(g: torch.Generator) -> tuple[Any, ...]:
    """Let the later keys win every softmax that can see them."""
    query, key, value, length = _made(3, 6)(g)
    rising = torch.arange(9.0).double().unsqueeze(-1)
    return query.abs() + 0.5, key.abs() * 0.1 + 3.0 * rising, value, length


def _far_below(g: torch.Generator) -> tuple[Any, ...]:
    """Let all scores be lower than what is often taken for minus infinity."""
    query, key, value, length = _made(3, 6)(g)
    query[..., 0], key[..., 0] = 200.0, -200.0
    return query, key, value, length


def _tokens_first(g: torch.Generator) -> tuple[Any, ...]:
    *tensors, length = _made(2, 6, 8, (2, 5, 3))(g)
    return *(x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors), length


EXERCISE = Exercise(
    name="decode_step",
    chapter=10,
    signature="decode_step(query, cache_key, cache_value, length)",
    asks="Attend from the T newest positions to the filled slots of a cache, causally.",
    reference=decode_step,
    minutes=20,
    difficulty=3,
    importance=5,
    cases=(
        Case("one query, 5 of 9 slots filled", _made(1, 5), gradient="equal"),
        Case("3 queries, 7 of 9 slots filled", _made(3, 7), gradient="equal"),
        Case("a prompt: 5 queries, 5 slots filled", _made(5, 5)),
        Case("a full cache", _made(2, 9)),
        Case("the very first token", _made(1, 1)),
        Case("2 queries, 8 slots filled, 3 sequences, 5 heads", _made(2, 8, 11, (3, 5, 6))),
        Case("4 queries, all sizes 4", _made(4, 8, 12, (4, 4, 4))),
        Case("one sequence, one head", _made(3, 5, 7, (1, 1, 2))),
        Case("later keys with by far the best scores", _loud_future),
        Case("scores of thousands", _made(2, 6, size=60.0)),
        Case("all scores near -20,000", _far_below),
        Case("free slots that hold NaN, one query", _made(1, 4, free=torch.nan), gradient="equal"),
        Case("free slots that hold NaN, 3 queries", _made(3, 6, free=torch.nan)),
        Case("free slots that hold infinity", _made(2, 5, free=torch.inf)),
        Case("tensors that do not lie in memory head by head", _tokens_first),
        Case("one of everything", _made(1, 1, 1, (1, 1, 1))),
        Case("float32", _made(3, 7, dtype=torch.float32), tolerance=1e-4),
        Case("bfloat16", _made(2, 6, dtype=torch.bfloat16)),
    ),
    misconceptions=(*SLOTS, *HEADS, *SCALES, *WAYS),
    properties=(IS_AVERAGE,),
    hints=(
        "With 7 filled slots and 3 queries, at which positions do the queries stand? Write down "
        "for each of them which slots it may see.",
        "Slots behind `length` must not be read at all: a mask is too late, since 0 times NaN is "
        "NaN. What does a slice do?",
        "One query sees every filled slot and needs no mask. Several need a causal mask whose "
        "first row does not begin at slot 0: how many tokens were there before them?",
        "`causal_mask(T, length, offset=length - T)` of chapter 06 is that mask.",
    ),
)
