"""What goes wrong in the exponents of sinusoidal encodings: each mistake as something to run."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch07_positions._sinusoid_wrong import (
    build,
    by_feature,
    exponents,
    pairs,
)


def _other_angles(args: tuple[Any, ...], pe: Tensor) -> bool:
    """Say whether every pair is a sine and a cosine, right at position 0, of wrong angles."""
    sin, cos = pe.double().unflatten(-1, (-1, 2)).unbind(-1)
    on_the_circle = bool(((sin.square() + cos.square() - 1).abs() < 1e-3).all())
    return on_the_circle and bool((sin[0].abs() < 1e-3).all() and (cos[0] > 0.9).all())


def _default(number: float) -> Function:
    return lambda num_positions, d_model, base=number: build()(num_positions, d_model, base)


def _fairseq(d_model: int) -> Tensor:
    return pairs(d_model) / max(d_model / 2 - 1, 1)


EXPONENTS = (
    Misconception(
        "exponent i instead of 2i",
        build(exponent=lambda d: pairs(d) / d),
        "The wavelengths grow too slowly from pair to pair. With i the number of the pair, the "
        "exponent is 2i/d_model; the last pair comes near the base.",
    ),
    Misconception(
        "exponent 4i instead of 2i",
        build(exponent=lambda d: 4 * pairs(d) / d),
        "The wavelengths grow too fast. `arange(0, d_model, 2)` is 2i already; is it doubled "
        "again, or the width halved?",
    ),
    Misconception(
        "a frequency for each feature instead of each pair",
        by_feature(lambda k: k, lambda k: k),
        "Sine and cosine of a pair run at different speeds, so the pair is no rotation and cannot "
        "be shifted. Features 2i and 2i + 1 share one frequency.",
        also=(
            by_feature(lambda k: 2 * k, lambda k: 2 * k),
            by_feature(lambda k: k, lambda k: k + 1),
            by_feature(lambda k: k, lambda k: 2 * k),
            by_feature(lambda k: k, lambda k: 2 * (k - 1)),
        ),
    ),
    Misconception(
        "exponent not divided by the width",
        build(exponent=lambda d: 2 * pairs(d)),
        "From the second pair on all angles are nearly 0: the exponent is 2, 4, 6, ... What "
        "divides it?",
        also=(build(exponent=pairs),),
    ),
    Misconception(
        "one frequency",
        build(exponent=lambda d: 0 * pairs(d)),
        "All pairs run at one speed, so the encoding comes again after a few positions. How does "
        "the angle depend on the number of the pair?",
        also=(
            build(exponent=lambda d: 0 * pairs(d) + 1),
            build(exponent=lambda d: 0 * pairs(d) + 2 / d),
        ),
    ),
    Misconception(
        "pairs counted from 1",
        build(exponent=lambda d: 2 * (pairs(d) + 1) / d),
        "The first pair runs slower than 1 radian a position. Which power of the base is 1?",
        also=(build(exponent=lambda d: (2 * pairs(d) + 1) / d),),
    ),
    Misconception(
        "fairseq's exponent",
        build(exponent=_fairseq),
        "The last wavelength is exactly 2π·base: i was divided by d_model/2 - 1, as fairseq and "
        "tensor2tensor do. Vaswani's formula divides 2i by d_model.",
        also=(
            build(exponent=lambda d: 2 * pairs(d) / max(d - 1, 1)),
            build(exponent=_fairseq, join=lambda s, c: torch.cat((s, c), dim=-1)),
        ),
    ),
    Misconception(
        "multiplied by the power instead of divided",
        build(exponent=lambda d: -exponents(d)),
        "The waves get faster from pair to pair. Does the power of the base divide the position?",
    ),
    Misconception(
        "pairs in reverse",
        build(exponent=lambda d: exponents(d).flip(0)),
        "The slowest pair comes first. Features 0 and 1 run at 1 radian a position.",
    ),
    Misconception(
        "no power of the base",
        build(angle=lambda p, e, base: p[:, None] / (base * e.clamp(min=1 / base))),
        "The angles are not p / base^(2i/d_model): print those of position 1. Pair 0 has the angle "
        "1, and from pair to pair they fall by a constant factor.",
        also=(
            build(angle=lambda p, e, base: p[:, None] * torch.exp(-e)),
            build(angle=lambda p, e, base: p[:, None] / (1 + base * e)),
            build(angle=lambda p, e, base: p[:, None] / (base * e + 1e-9)),
            build(angle=lambda p, e, base: p[:, None] / (1 + e)),
        ),
    ),
    Misconception(
        "the logarithm to another base",
        build(angle=lambda p, e, base: p[:, None] * torch.exp(-e * math.log10(base))),
        "The base is written as exp(log(base)), with an exp and a log that do not undo each other. "
        "Which logarithm belongs to `exp`?",
        also=(
            build(angle=lambda p, e, base: p[:, None] * torch.exp2(-e * math.log(base))),
            build(angle=lambda p, e, base: p[:, None] * torch.exp(-e * math.log2(base))),
            build(angle=lambda p, e, base: p[:, None] * 10 ** (-e * math.log(base))),
        ),
    ),
    Misconception(
        "another default base",
        _default(1000.0),
        "Right where a base is given. Without one the table is that of another base: what is the "
        "default?",
        also=(_default(100.0), _default(1e5), _default(5e5), _default(1e6)),
    ),
    Misconception(
        "angles of other frequencies",
        build(exponent=lambda d: 2 * pairs(d) / 512),
        "Each pair is a sine and a cosine, but of other angles than p / base^(2i/d_model): print "
        "those of position 1. Is the width written into the code, or a number rounded?",
        also=(
            build(exponent=lambda d: 2 * pairs(d) / 64),
            build(exponent=lambda d: pairs(d) / (2 * d)),
        ),
        fits=_other_angles,
    ),
)
