"""Helpers of the checks: seeded inputs, and helpers to read off a result."""

import math
from collections.abc import Callable, Sequence
from statistics import linear_regression
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import causal_mask, scaled_dot_product_attention
from course_utils.measure import read_record


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Return standard normal numbers in float64, the same each time."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def draws(*shapes: tuple[int, ...], seed: int = 0) -> Any:
    """Return one tensor of standard normal numbers for each shape, all different."""
    return [draw(*shape, seed=seed + index) for index, shape in enumerate(shapes)]


def exact(numbers: Sequence[Any]) -> Tensor:
    """Return numbers, or rows of numbers, in float64."""
    return torch.tensor(numbers, dtype=torch.float64)


def attend(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return plain self-attention over a text, without positions."""
    return scaled_dot_product_attention(x, x, x, mask)


def attend_causally(x: Tensor) -> Tensor:
    """Return the same under a causal mask."""
    return attend(x, causal_mask(x.shape[-2], x.shape[-2]))


def largest(a: Tensor, b: Tensor | float = 0.0) -> float:
    """Return the largest absolute difference."""
    return float((a - b).detach().abs().max())


def leak(layer: Callable[[Tensor], Tensor], x: Tensor) -> float:
    """Return how far the first four outputs move when the inputs after them change."""
    later = x.clone()
    later[..., 4:, :] += 1
    return largest(layer(x)[..., :4, :], layer(later)[..., :4, :])


def row(numbers: Tensor, digits: int = 3) -> str:
    """Return a vector's numbers, rounded, as text."""
    return "[" + ", ".join(f"{float(number):.{digits}f}" for number in numbers) + "]"


def growth(cost: Callable[[int], float], *sizes: int) -> float:
    """Return the power of a size by which a cost grows."""
    costs = [cost(size) for size in sizes]
    return linear_regression(list(map(math.log, sizes)), list(map(math.log, costs))).slope


def recorded(name: str, part: str = "runs", **about: Any) -> list[dict[str, Any]]:
    """Return the runs of a record with these settings, such as `what="tiled"`."""
    return [run for run in read_record(name)[part] if about.items() <= run.items()]


def refused(call: Any, *arguments: Any) -> str:
    """Return the name of the error that a call raises, or "" where it runs."""
    try:
        call(*arguments)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        return type(error).__name__
    return ""
