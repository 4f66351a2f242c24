"""Positive random features with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def build(
    root: Callable[[Tensor], float] = lambda x: x.shape[-1] ** 0.25,
    product: Callable[[Tensor, Tensor], Tensor] = lambda x, w: x @ w.mT,
    half: Callable[..., Any] = lambda x, w, given: 0.5 * x.square().sum(-1, keepdim=True),
    turn: Callable[[Tensor, Any], Tensor] = lambda along, half: torch.exp(along - half),
    mean: Callable[..., float] = lambda x, w: math.sqrt(w.shape[0]),
) -> Function:
    """Return random features with some steps exchanged.

    Args:
        root: What x is divided by.
        product: How far the scaled x reaches along each row of the projection.
        half: What is taken off, from the scaled x, the projection and x as it was given.
        turn: What is made of both.
        mean: What the features are divided by.
    """

    def wrong(x: Tensor, projection: Tensor) -> Any:
        scaled = x / root(x)
        made = turn(product(scaled, projection), half(scaled, projection, x))
        return made / mean(x, projection)

    return wrong
