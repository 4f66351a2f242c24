"""Exercise: cut a stream into heads without shuffling it."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import split_heads
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch05_multi_head._places import each_number_in_its_place
from course_utils.exercises.ch05_multi_head._split_mistakes import MISCONCEPTIONS


def _made(
    batch: int, length: int, num_heads: int, d_k: int, dtype: str = "float64", size: float = 1.0
) -> Any:
    """Return a maker of a stream and its number of heads."""

    def make(g: torch.Generator) -> tuple[Tensor, int]:
        shape = (batch, length, num_heads * d_k)
        return normal(g, *shape, dtype=getattr(torch, dtype), size=size), num_heads

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, int]:
    x, num_heads = _made(3, 4, 2, 5)(g)
    return strided(x), num_heads


def _positions_first(g: torch.Generator) -> tuple[Tensor, int]:
    x, num_heads = _made(4, 2, 3, 2)(g)
    return x.transpose(0, 1), num_heads


EXERCISE = Exercise(
    name="split_heads",
    chapter=5,
    signature="split_heads(x, num_heads)",
    asks="Give each head its own slice of the width: (B, L, d_model) becomes (B, H, L, d_k).",
    reference=split_heads,
    minutes=8,
    difficulty=2,
    importance=5,
    cases=(
        Case("2 sequences of 3 positions, 4 heads of width 5", _made(2, 3, 4, 5), gradient="equal"),
        Case("as many positions as heads", _made(2, 3, 3, 4), gradient="equal"),
        Case("as many sequences, positions, heads and features a head", _made(3, 3, 3, 3)),
        Case("as many sequences as heads", _made(4, 5, 4, 3)),
        Case("6 positions, 2 heads of width 4", _made(3, 6, 2, 4)),
        Case("24 heads of width 2", _made(2, 3, 24, 2)),
        Case("one head", _made(2, 4, 1, 6)),
        Case("heads of width 1", _made(2, 3, 5, 1)),
        Case("one sequence", _made(1, 4, 2, 3)),
        Case("one position", _made(3, 1, 2, 4)),
        Case("one of everything", _made(1, 1, 1, 1)),
        Case("a wide stream: 8 heads of width 16", _made(2, 5, 8, 16)),
        Case("large numbers", _made(2, 3, 4, 5, size=1e6)),
        Case("inputs that do not lie in memory row by row", _strided, gradient="equal"),
        Case("a stream that was made with the positions first", _positions_first),
        Case("float32", _made(2, 5, 3, 4, dtype="float32")),
        Case("bfloat16", _made(2, 5, 3, 4, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(each_number_in_its_place(split_heads, "x", "heads"),),
    hints=(
        "Nothing is computed here: the numbers of `x` only get one more axis. Which axis of "
        "(B, L, d_model) is cut, and into which two?",
        "In memory the features of head 0 come first, then those of head 1, all of the same "
        "position. So the cut gives (B, L, H, d_k), in this order. Try it on `torch.arange(12.)`.",
        "`view` and `reshape` never move a number; `transpose` does. Which two axes of "
        "(B, L, H, d_k) have to change places?",
        "In order: d_k is the width over the number of heads; `reshape` to four axes; "
        "`transpose` positions and heads.",
    ),
)
