"""Cases for exercises that make a table from numbers alone."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.checking.exercise import Case

# Angles made in float32 are as right as others: at position p they are off by about 1e-7 p.
ROUNDING = 1e-4


def numbers(*values: Any) -> Callable[[torch.Generator], tuple[Any, ...]]:
    """Return a maker of these values."""
    return lambda g: values


def table(name: str, *values: Any, tolerance: float = ROUNDING) -> Case:
    """Return a case with these values, judged to float32's rounding of angles."""
    return Case(name, numbers(*values), tolerance=tolerance)
