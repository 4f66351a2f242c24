"""Seeded inputs of the checks."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Return standard normal numbers in float64, the same each time."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def draws(*shapes: tuple[int, ...], seed: int = 0) -> Any:
    """Return one tensor of standard normal numbers for each shape, all different."""
    return [draw(*shape, seed=seed + index) for index, shape in enumerate(shapes)]


def largest(a: Tensor, b: Tensor | float = 0.0) -> float:
    """Return the largest absolute difference."""
    return float((a - b).detach().abs().max())


def row(numbers: Tensor, digits: int = 3) -> str:
    """Return a vector's numbers, rounded, as a text."""
    return "[" + ", ".join(f"{float(number):.{digits}f}" for number in numbers) + "]"


def power(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the power of x by which y grows between two points."""
    return math.log(y[1] / y[0]) / math.log(x[1] / x[0])


def refused(call: object, *arguments: object) -> str:
    """Return the name of the error that a call raises, or "" where it runs."""
    try:
        call(*arguments)  # type: ignore[operator]
    except (RuntimeError, ValueError, TypeError) as error:
        return type(error).__name__
    return ""
