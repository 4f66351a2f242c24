"""Exercise: put the heads side by side again."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import merge_heads
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch05_multi_head._merge_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch05_multi_head._places import each_number_in_its_place


def _made(*shape: int, dtype: str = "float64", size: float = 1.0) -> Any:
    """Return a maker of heads of the shape (B, H, L, d_k)."""
    return lambda g: (normal(g, *shape, dtype=getattr(torch, dtype), size=size),)


def _split(g: torch.Generator) -> tuple[Tensor]:
    """Lay the heads in memory as a split leaves them: position by position."""
    return (normal(g, 2, 5, 3, 4).transpose(1, 2),)


def _strided(g: torch.Generator) -> tuple[Tensor]:
    return (strided(normal(g, 2, 4, 3, 5)),)


EXERCISE = Exercise(
    name="merge_heads",
    chapter=5,
    signature="merge_heads(heads)",
    asks="Undo the split: lay the heads side by side, (B, H, L, d_k) becomes (B, L, d_model).",
    reference=merge_heads,
    minutes=6,
    difficulty=2,
    importance=5,
    cases=(
        Case("2 sequences, 4 heads, 3 positions, width 5", _made(2, 4, 3, 5), gradient="equal"),
        Case("as many heads as positions", _made(2, 3, 3, 4)),
        Case("as many sequences, heads, positions and features a head", _made(3, 3, 3, 3)),
        Case("as many sequences as heads", _made(4, 4, 5, 3)),
        Case("heads as a split leaves them in memory", _split, gradient="equal"),
        Case("one head", _made(2, 1, 4, 6)),
        Case("heads of width 1", _made(2, 5, 3, 1)),
        Case("one sequence", _made(1, 2, 4, 3)),
        Case("one position", _made(3, 2, 1, 4)),
        Case("one of everything", _made(1, 1, 1, 1)),
        Case("24 heads of width 2", _made(2, 24, 3, 2)),
        Case("large numbers", _made(2, 4, 3, 5, size=1e6)),
        Case("inputs that do not lie in memory row by row", _strided, gradient="equal"),
        Case("float32", _made(2, 3, 5, 4, dtype="float32")),
        Case("bfloat16", _made(2, 3, 5, 4, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(each_number_in_its_place(merge_heads, "heads", "stream"),),
    hints=(
        "Go back the way that you came when you split: which step was the last one there?",
        "Two axes can become one only if the second runs fastest inside the first. For d_model = "
        "H · d_k, which two must stand last?",
        "After `transpose` the numbers still lie in memory in the old order. `reshape` copies them "
        "if it must, `view` refuses.",
        "In order: `transpose` heads and positions; then lay the last two axes in one, with "
        "`reshape` or `flatten`.",
    ),
)
