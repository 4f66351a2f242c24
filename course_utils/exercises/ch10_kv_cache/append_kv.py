"""Exercise: write new keys and values into memory that was taken in advance."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import append_kv
from course_utils.checking.exercise import Case, Cost, Exercise, Function
from course_utils.checking.inputs import normal
from course_utils.exercises.ch08_cheaper._counting import largest_above
from course_utils.exercises.ch10_kv_cache._append_copy_mistakes import COPIED
from course_utils.exercises.ch10_kv_cache._append_mistakes import WRITES
from course_utils.exercises.ch10_kv_cache._append_result_mistakes import RESULTS
from course_utils.exercises.ch10_kv_cache._append_room_mistakes import ROOM

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    length: int,
    new: int,
    slots: int = 9,
    sizes: tuple[int, int, int] = (2, 3, 4),
    dtype: torch.dtype = torch.float64,
    free: float | None = None,
) -> Make:
    """Make a cache of (B, H, d) with `length` of its slots filled, and new rows.

    The free slots hold numbers, as memory that is used again does, or what `free` says.
    """
    batch, heads, width = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        caches = [normal(g, batch, heads, slots, width, dtype=dtype) for _ in range(2)]
        if free is not None:
            for cache in caches:
                cache[:, :, length:] = free
        fresh = [normal(g, batch, heads, new, width, dtype=dtype) for _ in range(2)]
        return (*caches, length, *fresh)

    return make


def _tokens_first(g: torch.Generator) -> tuple[Any, ...]:
    """Lay everything in memory by tokens, as a projection that is split into heads leaves it."""
    key, value, length, *fresh = _made(4, 3)(g)
    laid = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (key, value, *fresh)]
    return (*laid[:2], length, *laid[2:])


def _append(fn: Function, key: Tensor, value: Tensor, *rest: Any) -> Any:
    """Call it on copies, so that what it writes can be looked at."""
    key, value = key.clone(), value.clone()
    return fn(key, value, *rest), key, value


def _append_thrice(fn: Function, key: Tensor, value: Tensor, length: int, *new: Tensor) -> Any:
    key, value = key.clone(), value.clone()
    for size in (3, 1, 2):
        length = fn(key, value, length, *(x[:, :, :size] + size for x in new))
    return length, key, value


def _overflow(fn: Function, key: Tensor, value: Tensor, *rest: Any) -> Any:
    """Return which error came, if any, instead of a length."""
    key, value = key.clone(), value.clone()
    try:
        fn(key, value, *rest)
    except ValueError:
        return "ValueError", key, value
    except Exception as error:
        return type(error).__name__, key, value
    return "no error", key, value


def _growing(slots: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(5, 2, slots, (2, 4, 64))(g)


EXERCISE = Exercise(
    name="append_kv",
    chapter=10,
    signature="append_kv(cache_key, cache_value, length, key, value)",
    asks="Write new keys and values behind the first `length` of a cache; return the new length.",
    reference=append_kv,
    minutes=10,
    difficulty=2,
    importance=5,
    parts=("the result", "cache_key afterwards", "cache_value afterwards"),
    cases=(
        Case("2 tokens behind 3, in 9 slots", _made(3, 2), run=_append),
        Case("one token behind 5", _made(5, 1), run=_append),
        Case("a prompt of 5 into an empty cache", _made(0, 5), run=_append),
        Case("4 tokens behind 4, all sizes 4", _made(4, 4, 12, (4, 4, 4)), run=_append),
        Case("the last free slot", _made(8, 1), run=_overflow),
        Case("3 tokens for the last 3 slots", _made(6, 3), run=_overflow),
        Case("a prompt as long as the cache", _made(0, 7, 7), run=_append),
        Case("one of everything", _made(0, 1, 1, (1, 1, 1)), run=_append),
        Case("free slots that hold NaN", _made(2, 3, free=torch.nan), run=_append),
        Case("tensors that do not lie in memory head by head", _tokens_first, run=_append),
        Case("float32", _made(4, 2, 11, (3, 2, 5), torch.float32), run=_append),
        Case("bfloat16", _made(1, 4, 8, (3, 5, 2), torch.bfloat16), run=_append),
        Case("three calls, 3, 1 and 2 tokens", _made(2, 3, 10), run=_append_thrice),
        Case("one token into a full cache", _made(9, 1), run=_overflow),
        Case("3 tokens for 2 free slots", _made(7, 3), run=_overflow),
        Case("4 tokens for 3 free slots, sizes alike", _made(5, 4, 8, (4, 4, 4)), run=_overflow),
        Case("a prompt longer than the cache", _made(0, 6, 5), run=_overflow),
    ),
    misconceptions=(*WRITES, *ROOM, *RESULTS, COPIED),
    costs=(
        Cost(
            "the largest tensor",
            largest_above(lambda cache_key, cache_value, length, key, value: int(key.numel())),
            (64, 512),
            _growing,
            0.3,
            COPIED.says,
            COPIED,
        ),
    ),
    hints=(
        "With 3 tokens in a cache of 9 slots, write down the numbers of the slots that 2 new "
        "tokens take. What is the length then?",
        "A slice on the left of `=` writes into memory that exists. The slots lie along the third "
        "axis.",
        "An error must come before the first number is written, or half of the tokens stay behind. "
        "Compare the new length with the number of slots first.",
        "With `end = length + T`, the slots are `length` up to `end`, in both caches; `end` is "
        "also what comes back. `end` may equal the number of slots.",
    ),
)
