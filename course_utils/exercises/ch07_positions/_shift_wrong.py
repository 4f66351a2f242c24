"""The shift matrix with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch07_positions._sinusoid_wrong import exponents

Corners = tuple[Tensor, Tensor, Tensor, Tensor]


def corners_of(cos: Tensor, sin: Tensor) -> Corners:
    """Return the right block, row by row."""
    return cos, -sin, sin, cos


def build(
    corners: Callable[[Tensor, Tensor], Corners] = corners_of,
    exponent: Callable[[int], Tensor] = exponents,
    offset: Callable[[int], float] = float,
    base: Callable[[float], float] = float,
) -> Function:
    """Return the matrix with some of its steps exchanged: a block's corners row by row."""

    def shift(by: int, d_model: int, base_given: float = 10000.0) -> Tensor:
        turned = offset(by) / torch.as_tensor(base(base_given)).double() ** exponent(d_model)
        blocks = torch.stack(corners(turned.cos(), turned.sin()), dim=-1).view(-1, 2, 2)
        made: Tensor = torch.block_diag(*blocks)
        return made.to(torch.get_default_dtype())

    return shift


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])
