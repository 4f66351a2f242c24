"""Quantising with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function

STEPS = 127


def largest(x: Tensor) -> Tensor:
    """Return the largest size in each row, as it should be done."""
    return x.abs().amax(-1, keepdim=True)


def filled(scale: Tensor) -> Tensor:
    """Let a step be 1 where all numbers are zero, as it should be done."""
    return torch.where(scale == 0, 1.0, scale)


def build(
    size: Callable[[Tensor], Tensor] = largest,
    steps: float = STEPS,
    fill: Callable[[Tensor], Tensor] = filled,
    whole: Callable[[Tensor], Tensor] = torch.round,
    low: float = -STEPS,
    high: float = STEPS,
    dtype: torch.dtype = torch.int8,
    finish: Callable[[Tensor, Tensor, Tensor], Any] = lambda q, scale, x: (q, scale),
) -> Function:
    """Return a quantisation with some of its steps exchanged.

    Args:
        size: What is divided by the number of steps.
        steps: The number of steps.
        fill: What is done about a step of 0.
        whole: What makes whole numbers.
        low: The smallest step that is kept.
        high: The largest.
        dtype: The dtype of the steps.
        finish: What is made of the steps, their size and the input.
    """

    def wrong(x: Tensor) -> Any:
        scale = fill(size(x) / steps)
        q = whole((x / scale).detach()).clamp(low, high).to(dtype)
        return finish(q, scale, x)

    return wrong


def wrapped(q: Tensor) -> Tensor:
    """Keep the low 8 bits, as a cast of whole numbers does."""
    return (q.round() + 128) % 256 - 128


def over(*axes: int) -> Callable[[Tensor], Tensor]:
    """Return the largest size over some axes, laid out for every token and head."""
    return lambda x: x.abs().amax(axes, keepdim=True).expand(*x.shape[:-1], 1)
