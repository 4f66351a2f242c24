"""What goes wrong in the angles of the shift matrix: each mistake as something to run."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._shift_block_mistakes import BLOCKS
from course_utils.exercises.ch07_positions._shift_wrong import build, of
from course_utils.exercises.ch07_positions._sinusoid_wrong import exponents, pairs


def shifts_one_pair(args: tuple[Any, ...], got: Tensor) -> bool:
    """Say whether the matrix is made of rotations of the right pairs, by wrong angles."""
    width = args[1]
    blocks = torch.stack([got[i : i + 2, i : i + 2] for i in range(0, width, 2)]).double()
    rest = got.double() - torch.block_diag(*blocks)
    square = blocks @ blocks.mT - torch.eye(2, dtype=torch.float64)
    turns = blocks[:, 0, 0] * blocks[:, 1, 1] - blocks[:, 0, 1] * blocks[:, 1, 0] > 0
    return bool((rest.abs() < 1e-3).all() and (square.abs() < 1e-2).all() and turns.all())


MISCONCEPTIONS = (
    *BLOCKS,
    of(
        "one frequency",
        "All pairs are turned by the same angle. Each has its own frequency in the encoding.",
        build(exponent=lambda d: 0 * pairs(d)),
        build(exponent=lambda d: 0 * pairs(d) + 1),
        build(exponent=lambda d: 0 * pairs(d) + 2 / d),
    ),
    of(
        "exponent i instead of 2i",
        "The frequencies are not those of the encoding: the exponent is 2i/d_model.",
        build(exponent=lambda d: pairs(d) / d),
    ),
    of(
        "exponent 4i instead of 2i",
        "The frequencies fall too fast: `arange(0, d_model, 2)` is 2i already.",
        build(exponent=lambda d: 4 * pairs(d) / d),
    ),
    of(
        "pairs counted from 1",
        "The first pair turns by less than 1 radian a position. Which power of the base is 1?",
        build(exponent=lambda d: 2 * (pairs(d) + 1) / d),
        build(exponent=lambda d: (2 * pairs(d) + 1) / d),
    ),
    of(
        "exponent not divided by the width",
        "From the second pair on hardly anything turns. What divides 2i?",
        build(exponent=lambda d: 2 * pairs(d)),
        build(exponent=pairs),
    ),
    of(
        "fairseq's exponent",
        "i was divided by d_model/2 - 1. The encoding divides 2i by d_model.",
        build(exponent=lambda d: pairs(d) / max(d / 2 - 1, 1)),
        build(exponent=lambda d: 2 * pairs(d) / max(d - 1, 1)),
    ),
    of(
        "multiplied by the power instead of divided",
        "The pairs turn faster and faster. Does the power of the base divide the offset?",
        build(exponent=lambda d: -exponents(d)),
    ),
    of(
        "pairs in reverse",
        "The slowest pair comes first. Features 0 and 1 turn by 1 radian a position.",
        build(exponent=lambda d: exponents(d).flip(0)),
    ),
    of(
        "base hard-coded",
        "Every base gives the same matrix. Where is the argument used?",
        build(base=lambda base: 10000.0),
    ),
    of(
        "offset of 1 more or less",
        "The shift is one place too far or too short. What should offset 0 do?",
        build(offset=lambda by: by + 1),
        build(offset=lambda by: by - 1),
    ),
    of(
        "the sign of the offset lost",
        "A negative offset shifts forwards too. What does the sine of a negative angle do?",
        build(offset=lambda by: abs(by)),
        build(offset=lambda by: max(by, 0)),
    ),
    of(
        "angles in whole turns or degrees",
        "All angles are off by one constant factor. They are radians: does anything multiply them?",
        build(offset=lambda by: 2 * math.pi * by),
        build(offset=lambda by: math.pi / 180 * by),
        build(offset=lambda by: math.pi * by),
    ),
    Misconception(
        "other angles than offset times frequency",
        build(offset=lambda by: float(by * by)),
        "The right pairs are turned, but by other angles than offset / base^(2i/d_model).",
        also=(build(offset=lambda by: by / 2),),
        fits=shifts_one_pair,
    ),
)
