"""Exercise: the table of sines and cosines."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Exercise, Property
from course_utils.exercises.ch07_positions._numbers import table
from course_utils.exercises.ch07_positions._sinusoid_mistakes import MISCONCEPTIONS
from course_utils.positions import sinusoidal_encoding


def _outside_of_one(args: tuple[Any, ...], pe: Tensor) -> str | None:
    high = pe.abs().max().item()
    return f"There is a value of size {high:.4g}." if high > 1.001 else None


def _off_the_circle(args: tuple[Any, ...], pe: Tensor) -> str | None:
    radius = pe.double().square().unflatten(-1, (-1, 2)).sum(-1)
    wrong = ((radius - 1).abs() > 0.01).nonzero()
    if not len(wrong):
        return None
    p, i = (int(n) for n in wrong[0])
    return (
        f"At position {p} features {2 * i} and {2 * i + 1} have squares that add up to "
        f"{radius[p, i].item():.4g}."
    )


EXERCISE = Exercise(
    name="sinusoidal_encoding",
    chapter=7,
    signature="sinusoidal_encoding(num_positions, d_model, base=10000.0)",
    asks="Make the table of sines and cosines, one row for each position.",
    reference=sinusoidal_encoding,
    minutes=10,
    difficulty=2,
    importance=4,
    cases=(
        table("4 positions, width 2", 4, 2),
        table("3 positions, width 4", 3, 4),
        table("7 positions, width 10", 7, 10),
        table("as many positions as features", 6, 6),
        table("40 positions, width 16", 40, 16),
        table("5 positions, width 8, base=100.0", 5, 8, 100.0),
        table("6 positions, width 4, base=10, a whole number", 6, 4, 10),
        table("one position", 1, 6),
        table("500 positions, width 64", 500, 64, tolerance=3e-3),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        Property("sines and cosines lie between -1 and 1", _outside_of_one),
        Property("sine² + cosine² of a pair is 1", _off_the_circle),
    ),
    hints=(
        "There are d_model/2 pairs. What angle has pair i at position p, and what two numbers are "
        "made of it?",
        "A column of positions divided by a row of powers broadcasts to a table of angles. What "
        "shapes do `unsqueeze` or `[:, None]` give them?",
        "Slices with a step write every other column: where do `0::2` and `1::2` begin?",
        "`torch.arange(0, d_model, 2)` counts 0, 2, 4, ...: that is 2i already.",
    ),
)
