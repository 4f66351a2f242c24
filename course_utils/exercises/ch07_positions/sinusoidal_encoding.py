"""Exercise: the table of sines and cosines."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import left_in
from course_utils.exercises.shared.positions import ANGLES, FREQUENCIES, ROUNDING, made_dtype
from course_utils.positions import sinusoidal_encoding
from torch import Tensor

RIGHT = """
def sinusoidal_encoding(num_positions, d_model, base=10000.0):
    width = d_model
    used = float(base)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    exponents = 2 * pairs / width
    frequencies = used**-exponents
    places = torch.arange(num_positions, dtype=torch.float64)
    angles = places.unsqueeze(-1) * frequencies
    cosines = angles.cos()
    sines = angles.sin()
    table = torch.stack((sines, cosines), dim=-1).flatten(-2)
    return table.to(torch.get_default_dtype())
"""

_OWN_FREQUENCIES = """
feature = torch.arange(width, dtype=torch.float64)
power = torch.where(feature % 2 == 0, {sine}, {cosine})
wide = places.unsqueeze(-1) * used ** (-power / width)
table = torch.where(feature % 2 == 0, wide.sin(), wide.cos())
"""
_EXCHANGED = """
row = torch.arange(num_positions).unsqueeze(-1)
wide = torch.arange(width) / used ** (2 * (row // 2) / width)
table = torch.where(row % 2 == 0, wide.sin(), wide.cos())
"""


def _slightly_off(args: tuple[Any, ...], pe: Tensor) -> bool:
    """Return whether it is the right table but for a rounding of the angles, which grows with them."""
    num_positions, d_model, *base = args
    exact = sinusoidal_encoding(num_positions, d_model, *base)
    frequencies = float(base[0] if base else 10000.0) ** -(torch.arange(d_model) // 2 * 2 / d_model)
    room = 1e-5 * torch.arange(num_positions).unsqueeze(-1) * frequencies + 1e-6
    return bool(((pe - exact).abs() <= room).all())


def _other_angles(args: tuple[Any, ...], pe: Tensor) -> bool:
    """Return whether every pair is a sine and a cosine, right at position 0, of wrong angles."""
    sin, cos = pe.double().unflatten(-1, (-1, 2)).unbind(-1)
    on_the_circle = bool(((sin.square() + cos.square() - 1).abs() < 1e-3).all())
    return on_the_circle and bool((sin[0].abs() < 1e-3).all() and (cos[0] > 0.9).all())


def _outside_of_one(args: tuple[Any, ...], pe: Tensor) -> str | None:
    high = pe.abs().max().item()
    return f"There is a value of size {high:.4g}." if high > 1.001 else None


def _off_the_circle(args: tuple[Any, ...], pe: Tensor) -> str | None:
    radius = pe.double().square().unflatten(-1, (-1, 2)).sum(-1)
    wrong = ((radius - 1).abs() > 0.01).nonzero()
    if not len(wrong):
        return None
    p, i = (int(n) for n in wrong[0])
    return f"At position {p} features {2 * i} and {2 * i + 1} have squares that add up to {radius[p, i]:.4g}."


def _rounded_off(args: tuple[Any, ...], pe: Tensor) -> bool:
    """Return whether it is the right table to two or three digits, at every position."""
    return bool(((pe - sinusoidal_encoding(*args)).abs() <= 6e-3).all())


WAVES = (
    mistake("sin and cos swapped", "Row 0 should be 0, 1, 0, 1, ...: the even features hold the sines.",
            "cosines = angles.sin()\nsines = angles.cos()"),
    mistake("sines in every feature", "There is only one kind of wave. With sines alone no matrix could shift a "
            "position: what belongs in the odd features?", "cosines = angles.sin()", "sines = angles.cos()",
            "table = (places.unsqueeze(-1) / used ** (torch.arange(width).double() / width)).sin()"),
    mistake("all sines before all cosines", "The right numbers in another order: fairseq and tensor2tensor put all "
            "sines first. Here the sine and the cosine of a pair are neighbours.",
            "table = torch.cat((sines, cosines), dim=-1)", "table = torch.cat((cosines, sines), dim=-1)"),
    mistake("a feature left at 0", "Every other column is zero: it was never written. Which slice holds the odd "
            "features?", "cosines = 0 * angles", "sines = 0 * angles"),
    mistake(
        "negative angle",
        "The sines have the wrong sign: the angle is positive, position over a power of the base.",
        "sines = -angles.sin()",
        "cosines = -angles.cos()",
        "sines = -angles.sin()\ncosines = -angles.cos()",
    ),
    mistake("angles without their waves", "These are the angles themselves, which grow without end. What keeps an "
            "encoding between -1 and 1?", "cosines = angles\nsines = angles"),
    mistake("random numbers", "The table is drawn at random and is different at every call. It is a fixed function of "
            "the position.",
            "table = torch.randn(num_positions, width)", detects=lambda trace: trace.used_global_random),
)

PLACES = (
    mistake("a frequency for each feature instead of each pair", "Sine and cosine of a pair run at different speeds, "
            "so the pair is not a rotation and cannot be shifted. Features 2i and 2i + 1 share one frequency.",
            _OWN_FREQUENCIES.format(sine="feature", cosine="feature"),
            _OWN_FREQUENCIES.format(sine="2 * feature", cosine="2 * feature"),
            _OWN_FREQUENCIES.format(sine="feature", cosine="feature + 1"),
            _OWN_FREQUENCIES.format(sine="feature", cosine="2 * feature"),
            _OWN_FREQUENCIES.format(sine="feature", cosine="2 * (feature - 1)")),
    mistake("another default base", "Right where a base is given. Without one a different base is used: what is the "
            "default?",
            *(f"used = {other} if base == 10000.0 else float(base)" for other in (1000.0, 100.0, 1e5, 5e5, 1e6))),
    mistake("positions from 1", "Row 0 is that of another position. Which row has only sines of 0 and cosines of 0?",
            "places = torch.arange(num_positions, dtype=torch.float64) + 1",
            "places = torch.arange(num_positions, dtype=torch.float64) - 1"),
    mistake("positions as a share of the length", "The same position has a different row in a longer "
            "table: positions were "
            "divided by their number.", "places = torch.arange(num_positions, dtype=torch.float64) / num_positions",
            "places = torch.arange(num_positions, dtype=torch.float64) / max(num_positions - 1, 1)"),
    mistake("row 0 left at zero", "Row 0 is all zeros, as if it were padding. What are the sine and the cosine of 0?",
            "table = torch.stack((sines, cosines), dim=-1).flatten(-2)\ntable = table * (places > 0).unsqueeze(-1)"),
    mistake("positions and features exchanged", "The angles run along the wrong axis: a row belongs to a position, a "
            "column to a feature.", _EXCHANGED, "table = torch.stack((sines, cosines), dim=-1).flatten(-2).mT",
            "num_positions, d_model = d_model, num_positions\nwidth = d_model"),
    mistake("sine or cosine by the position", "Rows of sines and rows of cosines take turns. Which index of pe[p, 2i] "
            "is even: that of the position, or that of the feature?",
            "swapped = torch.stack((sines, sines), -1) * (1 - places % 2).view(-1, 1, 1)\n"
            "swapped = swapped + torch.stack((cosines, cosines), -1) * (places % 2).view(-1, 1, 1)\n"
            "table = swapped.flatten(-2)"),
    mistake("a row too many or too few", "The table has a row more or less than `num_positions`. Where does the range "
            "of positions begin, and where does it end?",
            "places = torch.arange(num_positions + 1, dtype=torch.float64)",
            "places = torch.arange(num_positions - 1, dtype=torch.float64)",
            "places = torch.arange(1, num_positions, dtype=torch.float64)",
            "places = torch.arange(1, num_positions + 2, dtype=torch.float64)"),
    left_in("return table.to(torch.get_default_dtype()){}"),
    made_dtype("table"),
    mistake("positions in reverse", "The last row is that of position 0. In which order do the positions count?",
            "places = torch.arange(num_positions, dtype=torch.float64).flip(0)"),
    mistake("rows that repeat", "The rows repeat after a while: a remainder was taken of the positions, or their "
            "type is too small.", "places = torch.arange(num_positions, dtype=torch.float64) % 32"),
    mistake(
        "the table scaled",
        "Every number is off by the same factor. Vaswani scales the embeddings by √d_model, and leaves the encodings "
        "alone.",
        *(
            f"table = torch.stack((sines, cosines), dim=-1).flatten(-2) {factor}"
            for factor in ("* 0.1", "* width**0.5", "/ width**0.5", "* (width / 2) ** 0.5", "/ (width / 2) ** 0.5")
        ),
    ),
    mistake("angles in low precision", "Right at first, but the waves of far positions are off in the fourth digit or "
            "earlier: float32 has seven digits in all, and at position 5,000 four of them are before the point. Which "
            "dtype do positions, powers and their product have until the sine is taken?",
            "places = torch.arange(num_positions).float()\nfrequencies = (used**-exponents).float()",
            "frequencies = torch.exp(pairs.float() * (-2 * math.log(used) / width))",
            "angles = (places.unsqueeze(-1) * frequencies).float()", matches=_slightly_off),
    mistake("the table rounded", "Every number is right, but to two or three digits only. Did the table go through a "
            "type of 16 bits, or was it rounded?", "return table.bfloat16().to(torch.get_default_dtype())",
            "return table.half().to(torch.get_default_dtype())",
            "return table.to(torch.get_default_dtype()).round(decimals=3)", matches=_rounded_off),
    mistake("angles of other frequencies", "Each pair is a sine and a cosine, but of angles other than p / "
            "base^(2i/d_model): print those of position 1. Is the width written into the code, or a number rounded?",
            "exponents = 2 * pairs / 512", "exponents = 2 * pairs / 64", "exponents = pairs / (2 * width)",
            matches=_other_angles),
)


EXERCISE = exercise(
    sinusoidal_encoding,
    right=RIGHT,
    asks="Make the table of sines and cosines, one row for each position.",
    minutes=10,
    difficulty=2,
    importance=4,
    cases=(
        case("4 positions, width 6", given(4, 6), tolerance=ROUNDING),
        case("3 positions, width 2", given(3, 2), tolerance=ROUNDING),
        case("7 positions, width 10", given(7, 10), tolerance=ROUNDING),
        case("as many positions as features", given(6, 6), tolerance=ROUNDING),
        case("40 positions, width 16", given(40, 16), tolerance=ROUNDING),
        case("5 positions, width 8, base=100.0", given(5, 8, 100.0), tolerance=ROUNDING),
        case("6 positions, width 4, base=10, a whole number", given(6, 4, 10), tolerance=ROUNDING),
        case("one position", given(1, 6), tolerance=ROUNDING),
        case("500 positions, width 64", given(500, 64), tolerance=3e-3),
        case("5,001 positions, width 8: digits after the point", given(5001, 8)),
    ),
    mistakes=(*WAVES, *FREQUENCIES, *ANGLES, *PLACES),
    laws=(
        Law("sines and cosines lie between -1 and 1", _outside_of_one),
        Law("sine² + cosine² of a pair is 1", _off_the_circle),
    ),
    hints=(
        "There are d_model/2 pairs. What angle does pair i have at position p, and which two numbers are computed from "
        "it?",
        "A column of positions divided by a row of powers broadcasts to a table of angles. What shapes do `unsqueeze` "
        "or `[:, None]` give them?",
        "Slices with a step write every other column: where do `0::2` and `1::2` begin?",
        "`torch.arange(0, d_model, 2)` counts 0, 2, 4, ...: that is 2i already.",
    ),
)
