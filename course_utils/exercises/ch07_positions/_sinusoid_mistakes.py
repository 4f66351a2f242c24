"""What goes wrong in sinusoidal encodings: each mistake as something to run."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._sinusoid_speed_mistakes import EXPONENTS
from course_utils.exercises.ch07_positions._sinusoid_wrong import (
    build,
    from_zero,
    quotient,
)


def _angled(angle: Callable[[Tensor, Tensor, float], Tensor]) -> Callable[..., Tensor]:
    return build(angle=angle)


def _waves(wave: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Callable[..., Tensor]:
    return build(wave=wave)


def _random(num_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    return torch.randn(num_positions, d_model)


def _one_wave_of_every_feature(num_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    feature = torch.arange(d_model).double()
    angles = from_zero(num_positions)[:, None] / base ** (feature / d_model)
    return angles.sin().to(torch.get_default_dtype())


def _without_row_zero(num_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    pe: Tensor = build()(num_positions, d_model, base)
    return pe * (torch.arange(num_positions) > 0).unsqueeze(-1)


def _exchanged(num_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Give each column a position and each pair of rows a frequency."""
    pair = torch.arange(num_positions) // 2
    angles = torch.arange(d_model) / base ** (2 * pair.unsqueeze(-1) / d_model)
    even = torch.arange(num_positions).unsqueeze(-1) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


WAVES = (
    Misconception(
        "sin and cos swapped",
        _waves(lambda a: (a.cos(), a.sin())),
        "Row 0 should be 0, 1, 0, 1, ...: the sine stands in the even features.",
    ),
    Misconception(
        "sines in every feature",
        _waves(lambda a: (a.sin(), a.sin())),
        "There is only one kind of wave. With sines alone no matrix could shift a position: what "
        "stands in the odd features?",
        also=(_waves(lambda a: (a.cos(), a.cos())), _one_wave_of_every_feature),
    ),
    Misconception(
        "all sines before all cosines",
        build(join=lambda s, c: torch.cat((s, c), dim=-1)),
        "The right numbers in another order: fairseq and tensor2tensor put all sines first. Here "
        "the sine and the cosine of a pair are neighbours.",
        also=(build(join=lambda s, c: torch.cat((c, s), dim=-1)),),
    ),
    Misconception(
        "a feature left at 0",
        build(join=lambda s, c: torch.stack((s, 0 * c), dim=-1).flatten(-2)),
        "Every other column is zero: it was never written. Which slice holds the odd features?",
        also=(build(join=lambda s, c: torch.stack((0 * s, c), dim=-1).flatten(-2)),),
    ),
    Misconception(
        "negative angle",
        _waves(lambda a: (-a.sin(), a.cos())),
        "The sines have the wrong sign: the angle is positive, position over a power of the base.",
        also=(_waves(lambda a: (a.sin(), -a.cos())), _waves(lambda a: (-a.sin(), -a.cos()))),
    ),
    Misconception(
        "angles without their waves",
        _waves(lambda a: (a, a)),
        "These are the angles themselves, which grow without end. What keeps an encoding between "
        "-1 and 1?",
    ),
    Misconception(
        "random numbers",
        _random,
        "The table is drawn at random and is another at every call. It is a fixed function of the "
        "position.",
        sign=lambda trace: trace.used_global_random,
    ),
)

ANGLES = (
    Misconception(
        "base hard-coded",
        build(base=lambda base: 10000.0),
        "Every base gives the same table. Where is the argument used?",
        also=(build(base=lambda base: 1000.0),),
    ),
    Misconception(
        "base inside the power",
        _angled(lambda p, e, base: (p[:, None] / base) ** e),
        "The position stands under the power together with the base. Only the base is raised: "
        "p / base^(2i/d_model).",
        also=(_angled(lambda p, e, base: p[:, None] ** e / base),),
    ),
    Misconception(
        "positions from 1",
        build(place=lambda n: from_zero(n) + 1),
        "Row 0 is that of position 1. Which row has only sines of 0 and cosines of 0?",
        also=(build(place=lambda n: from_zero(n) - 1),),
    ),
    Misconception(
        "positions as a share of the length",
        build(place=lambda n: from_zero(n) / n),
        "The same position has another row in a longer table: positions were divided by their "
        "number.",
        also=(build(place=lambda n: from_zero(n) / max(n - 1, 1)),),
    ),
    Misconception(
        "row 0 left at zero",
        _without_row_zero,
        "Row 0 is all zeros, as if it were padding. What are the sine and the cosine of 0?",
    ),
    Misconception(
        "positions and features exchanged",
        _exchanged,
        "The angles run along the wrong axis: a row belongs to a position, a column to a feature.",
        also=(lambda n, d, base=10000.0: build()(n, d, base).mT,),
    ),
    Misconception(
        "positions in reverse",
        build(place=lambda n: from_zero(n).flip(0)),
        "The last row is that of position 0. In which order do the positions count?",
    ),
    Misconception(
        "angles in whole turns or degrees",
        _angled(lambda p, e, base: 2 * math.pi * quotient(p, e, base)),
        "All angles are off by one constant factor: nothing multiplies position over power.",
        also=(
            _angled(lambda p, e, base: math.pi * quotient(p, e, base)),
            _angled(lambda p, e, base: math.pi / 180 * quotient(p, e, base)),
            _angled(lambda p, e, base: 180 / math.pi * quotient(p, e, base)),
            _angled(lambda p, e, base: quotient(p, e, base) / (2 * math.pi)),
        ),
    ),
    Misconception(
        "rows that come again",
        _angled(lambda p, e, base: quotient(p % 32, e, base)),
        "The rows come again after a while: positions went through a remainder or too small a "
        "type.",
    ),
    Misconception(
        "the table scaled",
        _waves(lambda a: (a.sin() * 0.1, a.cos() * 0.1)),
        "Every number is off by the same factor. Vaswani scales the embeddings by √d_model, and "
        "leaves the encodings alone.",
        also=(
            build(join=lambda s, c: torch.stack((s, c), -1).flatten(-2) / s.shape[-1] ** 0.5),
            build(join=lambda s, c: torch.stack((s, c), -1).flatten(-2) * s.shape[-1] ** 0.5),
            build(join=lambda s, c: torch.stack((s, c), -1).flatten(-2) / (2 * s.shape[-1]) ** 0.5),
            build(join=lambda s, c: torch.stack((s, c), -1).flatten(-2) * (2 * s.shape[-1]) ** 0.5),
        ),
    ),
)

MISCONCEPTIONS = (*WAVES, *EXPONENTS, *ANGLES)
