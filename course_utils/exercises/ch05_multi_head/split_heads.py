"""Exercise: cut a stream into heads without shuffling it."""

from dataclasses import replace

import torch
from course_utils.attention import split_heads
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.exercises.shared.heads import SPLIT, SPLIT_SHAPES, in_its_place, joined
from course_utils.exercises.shared.kinds import other_kinds
from course_utils.exercises.shared.scale import multiple
from torch import Tensor

RIGHT = """
def split_heads(x, num_heads):
    cut = x.reshape(*x.shape[:2], num_heads, -1)
    heads = cut.transpose(1, 2)
    return heads
"""


def _multiplied(args: tuple[Tensor, int], got: Tensor) -> bool:
    return multiple(split_heads(*args), got)


def _positions_first(g: torch.Generator) -> tuple[Tensor, int]:
    return normal(g, 4, 2, 6).transpose(0, 1), 3


EXERCISE = exercise(
    split_heads,
    right=RIGHT,
    asks="Give each head its own slice of the width: (B, L, d_model) becomes (B, H, L, d_k).",
    minutes=8,
    difficulty=2,
    importance=5,
    cases=(
        case("2 sequences of 3 positions, 4 heads of width 5", B=2, L=3, d_model=20, num_heads=4, gradient="equal"),
        case("as many positions as heads", B=2, L=3, d_model=12, num_heads=3, gradient="equal"),
        case("as many sequences, positions, heads and features per head", B=3, L=3, d_model=9, num_heads=3),
        case("as many sequences as heads", B=4, L=5, d_model=12, num_heads=4),
        case("6 positions, 2 heads of width 4", B=3, L=6, d_model=8, num_heads=2),
        case("24 heads of width 2", B=2, L=3, d_model=48, num_heads=24),
        case("one head", B=2, L=4, d_model=6, num_heads=1),
        case("heads of width 1", B=2, L=3, d_model=5, num_heads=5),
        case("one sequence", B=1, L=4, d_model=6, num_heads=2),
        case("one position", B=3, L=1, d_model=8, num_heads=2),
        case("one of everything", B=1, L=1, d_model=1, num_heads=1),
        case("a wide stream: 8 heads of width 16", B=2, L=5, d_model=128, num_heads=8),
        case("large numbers", B=2, L=3, d_model=20, num_heads=4, size=1e6),
        case("non-contiguous inputs", B=3, L=4, d_model=10, num_heads=2, strided=True, gradient="equal"),
        case("a stream that was made with the positions first", _positions_first),
        case("float32", B=2, L=5, d_model=12, num_heads=3, dtype="float32"),
        case("bfloat16", B=2, L=5, d_model=12, num_heads=3, dtype="bfloat16"),
    ),
    mistakes=(
        *(replace(one, matches=_multiplied) if one.name == "the numbers changed" else one
          for one in joined(SPLIT, SPLIT_SHAPES)),
        *other_kinds("heads"),
    ),
    laws=(in_its_place(split_heads, "x", "heads"),),
    hints=(
        "Nothing is computed here: the numbers of `x` only get one more axis. Which axis of (B, L, d_model) is cut, "
        "and into which two?",
        "In memory the features of head 0 come first, then those of head 1, all of the same position. So the cut gives "
        "(B, L, H, d_k), in this order. Try it on `torch.arange(12.)`.",
        "`view` and `reshape` never move a number; `transpose` does. Which two axes of (B, L, H, d_k) have to change "
        "places?",
        "In order: d_k is the width divided by the number of heads; `reshape` to four axes; `transpose` positions and "
        "heads.",
    ),
)
