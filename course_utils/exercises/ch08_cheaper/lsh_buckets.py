"""Exercise: the hash that puts near vectors into one bucket."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import lsh_buckets
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._bucket_mistakes import MISCONCEPTIONS

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(*shape: int, half: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make vectors (..., L, d) and directions (d, half)."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, *shape, size=size, dtype=dtype)
        return x, normal(g, shape[-1], half, dtype=dtype)

    return make


def _whole(g: torch.Generator) -> tuple[Any, ...]:
    """Make small whole numbers, so that many directions are equally near."""
    x, rotations = _made(2, 12, 3, half=4)(g)
    x = x.round()
    x[0, 0] = 0.0
    return x, rotations.round().clamp(-1, 1)


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    x, rotations = _made(2, 9, 4, half=3)(g)
    return strided(x), strided(rotations)


EXERCISE = Exercise(
    name="lsh_buckets",
    chapter=8,
    signature="lsh_buckets(x, rotations)",
    asks="Give each vector the index of the nearest of the directions R and -R.",
    reference=lsh_buckets,
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        Case("8 vectors of width 4, 4 directions", _made(8, 4, half=4)),
        Case("10 vectors of width 3, 5 directions", _made(10, 3, half=5)),
        Case("leading axes (2, 3)", _made(2, 3, 7, 5, half=4)),
        Case("one direction: two buckets", _made(9, 4, half=1)),
        Case("short and long vectors", _made(3, 11, 6, half=8, size=100.0)),
        Case("ties, and a vector of zeros", _whole),
        Case("one vector", _made(1, 3, half=2)),
        Case("an axis of size 1", _made(1, 6, 4, half=3)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 40, 8, half=16, dtype=torch.float32)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "x · R says how far each vector reaches along each of n/2 directions. How far does it "
        "reach along their opposites?",
        "Put both halves side by side along the last axis: n numbers for each vector.",
        "The bucket is the index of the largest one. torch's own search gives the first where "
        "several are equal.",
    ),
)
