"""Exercise: put the heads side by side again."""

from dataclasses import replace

import torch
from course_utils.attention import merge_heads
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.exercises.shared.heads import MERGE, MERGE_SHAPES, in_its_place, joined
from course_utils.exercises.shared.kinds import other_kinds, overwritten
from course_utils.exercises.shared.scale import multiple
from torch import Tensor

RIGHT = """
def merge_heads(heads):
    out = heads
    turned = out.transpose(1, 2)
    merged = turned.flatten(-2)
    return merged
"""


def _multiplied(args: tuple[Tensor], got: Tensor) -> bool:
    return multiple(merge_heads(*args), got)


def _split(g: torch.Generator) -> tuple[Tensor]:
    """Store the heads in memory as a split leaves them: position by position."""
    return (normal(g, 2, 5, 3, 4).transpose(1, 2),)


EXERCISE = exercise(
    merge_heads,
    right=RIGHT,
    asks="Undo the split: lay the heads side by side, (B, H, L, d_k) becomes (B, L, d_model).",
    minutes=6,
    difficulty=2,
    importance=5,
    cases=(
        case("2 sequences, 4 heads, 3 positions, width 5", B=2, H=4, L=3, d_k=5, gradient="equal"),
        case("as many heads as positions", B=2, H=3, L=3, d_k=4),
        case("as many sequences, heads, positions and features per head", B=3, H=3, L=3, d_k=3),
        case("as many sequences as heads", B=4, H=4, L=5, d_k=3),
        case("heads as a split leaves them in memory", _split, gradient="equal"),
        case("one head", B=2, H=1, L=4, d_k=6),
        case("heads of width 1", B=2, H=5, L=3, d_k=1),
        case("one sequence", B=1, H=2, L=4, d_k=3),
        case("one position", B=3, H=2, L=1, d_k=4),
        case("one of everything", B=1, H=1, L=1, d_k=1),
        case("24 heads of width 2", B=2, H=24, L=3, d_k=2),
        case("large numbers", B=2, H=4, L=3, d_k=5, size=1e6),
        case("non-contiguous inputs", B=2, H=4, L=3, d_k=5, strided=True, gradient="equal"),
        case("float32", B=2, H=3, L=5, d_k=4, dtype="float32"),
        case("bfloat16", B=2, H=3, L=5, d_k=4, dtype="bfloat16"),
    ),
    mistakes=(
        *(replace(one, matches=_multiplied) if one.name == "the numbers changed" else one
          for one in joined(MERGE, MERGE_SHAPES)),
        overwritten("turned = out.transpose_(1, 2)"),
        *other_kinds("merged"),
    ),
    laws=(in_its_place(merge_heads, "heads", "stream"),),
    hints=(
        "Go back the way that you came when you split: which step was the last one there?",
        "Two axes can become one only if the second runs fastest inside the first. For d_model = H · d_k, which two "
        "must come last?",
        "After `transpose` the numbers are still in the old order in memory. `reshape` copies them if it must, `view` "
        "refuses.",
        "In order: `transpose` heads and positions; then join the last two axes, with `reshape` or `flatten`.",
    ),
)
