"""Checks that the position schemes share."""

import math

import torch
from torch import Tensor

from course_utils.attention._checks import check_at_least, check_number, check_tensor


def check_width(name: str, width: int) -> None:
    """Raise unless the width is even: positions are encoded in pairs of features."""
    check_at_least(2, **{name: width})
    if width % 2:
        raise ValueError(f"{name} must be even, got {width}")


def check_base(base: float) -> None:
    """Raise unless the base of the frequencies is a positive, finite number."""
    check_number(base=base)
    if not (base > 0 and math.isfinite(base)):
        raise ValueError(f"base must be a positive number, got {base}")


def check_factor(factor: float) -> None:
    """Raise unless the factor by which a text is longer is a finite number of at least 1."""
    check_number(factor=factor)
    if not (factor >= 1 and math.isfinite(factor)):
        raise ValueError(f"factor must be at least 1 and finite, got {factor}")


def check_numbers(name: str, positions: Tensor) -> None:
    """Raise TypeError unless it is a tensor of whole or real numbers."""
    check_tensor(**{name: positions})
    if positions.dtype.is_complex or positions.dtype == torch.bool:
        raise TypeError(f"{name} must be whole or real numbers, got dtype {positions.dtype}")


def check_whole(name: str, positions: Tensor) -> None:
    """Raise TypeError unless it is a tensor of whole numbers."""
    check_numbers(name, positions)
    if positions.is_floating_point():
        raise TypeError(f"{name} must be whole numbers, got dtype {positions.dtype}")


def check_positions(name: str, positions: Tensor, length: int, batch: int | None = None) -> None:
    """Raise unless there is one position for each of `length` tokens, alike or for each batch."""
    check_numbers(name, positions)
    fits = [(length,)] if batch is None else [(length,), (batch, length)]
    if tuple(positions.shape) not in fits:
        shapes = " or ".join(map(str, fits))
        raise ValueError(f"{name} must have the shape {shapes}, got {tuple(positions.shape)}")
