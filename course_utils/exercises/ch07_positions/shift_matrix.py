"""Exercise: the matrix that shifts every sinusoidal encoding by an offset."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Exercise, Property
from course_utils.exercises.ch07_positions._numbers import table
from course_utils.exercises.ch07_positions._shift_mistakes import MISCONCEPTIONS
from course_utils.positions import shift_matrix


def _does_not_shift(args: tuple[Any, ...], matrix: Tensor) -> str | None:
    offset, d_model, *rest = args
    base = float(rest[0]) if rest else 10000.0
    powers = base ** (2 * torch.arange(d_model // 2).double() / d_model)
    angle = torch.stack([(1 + shifted) / powers for shifted in (0, offset)])
    pe = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
    got = pe[0] @ matrix.double()
    wrong = ((got - pe[1]).abs() > 1e-3).nonzero()
    if not len(wrong):
        return None
    k = int(wrong[0])
    return (
        f"pe[1] @ M should be pe[{1 + offset}]; its feature {k} is {got[k].item():.4g} and should "
        f"be {pe[1, k].item():.4g}."
    )


EXERCISE = Exercise(
    name="shift_matrix",
    chapter=7,
    signature="shift_matrix(offset, d_model, base=10000.0)",
    asks="Build the matrix M with pe[p + offset] == pe[p] @ M for every position p.",
    reference=shift_matrix,
    minutes=12,
    difficulty=3,
    importance=3,
    cases=(
        table("offset 1, width 2", 1, 2),
        table("offset 1, width 4", 1, 4),
        table("offset 3, width 6", 3, 6),
        table("offset 0", 0, 4),
        table("offset -2", -2, 6),
        table("offset 5, width 8, base=100.0", 5, 8, 100.0),
        table("offset 2, width 4, base=10, a whole number", 2, 4, 10),
        table("offset 40, width 10", 40, 10),
        table("offset -7, width 12, base=500.0", -7, 12, 500.0),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(Property("M takes each position to the one offset further on", _does_not_shift),),
    hints=(
        "Look at one pair only: write sin(a + b) and cos(a + b) with sin a, cos a, sin b, cos b.",
        "The pair (sin a, cos a) is a row; it is multiplied by a 2 × 2 block from the right. Which "
        "column of the block makes the new sine?",
        "The angle b of pair i is offset / base^(2i/d_model): neither p nor the pair's own angle.",
        "The blocks stand along the diagonal: `torch.block_diag`, or two strided assignments for "
        "the diagonal and two for its neighbours.",
    ),
)
