"""Exercise: the Performer's positive features."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import positive_random_features
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._feature_mistakes import MISCONCEPTIONS

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(*shape: int, m: int, size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make vectors (..., L, d) and a projection (m, d)."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, *shape, size=size, dtype=dtype)
        return x, normal(g, m, shape[-1], dtype=dtype)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    x, projection = _made(2, 6, 4, m=5)(g)
    return strided(x), strided(projection)


EXERCISE = Exercise(
    name="positive_random_features",
    chapter=8,
    signature="positive_random_features(x, projection)",
    asks="Make features with φ(q)·φ(k) near exp(q·k/√d): exp(w·x' - |x'|²/2)/√m.",
    reference=positive_random_features,
    minutes=10,
    difficulty=3,
    importance=3,
    cases=(
        Case("3 vectors of width 4, 4 rows", _made(3, 4, m=4)),
        Case("5 vectors of width 3, 7 rows", _made(5, 3, m=7), gradient="equal"),
        Case("leading axes (2, 3)", _made(2, 3, 5, 6, m=4), gradient="equal"),
        Case("width 9, 2 rows", _made(4, 2, 9, m=2)),
        Case("one row", _made(2, 5, 4, m=1)),
        Case("one vector of width 1", _made(1, 1, m=3)),
        Case("all sizes 4", _made(4, 4, 4, m=4)),
        Case("vectors of zeros: 1/√m everywhere", _made(2, 3, 5, m=6, size=0.0)),
        Case("long vectors", _made(2, 5, 16, m=8, size=3.0)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 5, 16, m=6, dtype=torch.float32), tolerance=1e-4),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "The product of two features is an exponential of a sum. What must be taken off each, so "
        "that the mean over normal w is exp(q'·k') and no more?",
        "q·k/√d = q'·k' if query and key are both divided by the same number. Which one?",
        "The projection has a row for each feature: how far x' reaches along each is a product of "
        "(L, d) and (d, m). |x'|² is one number a vector: keep its axis.",
        "φ(q)·φ(k) should be a mean over m rows, not a sum: share the division out between both "
        "features.",
    ),
)
