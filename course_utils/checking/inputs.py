"""Inputs for cases: seeded, float64 unless said, and never square by accident."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def given(*numbers: Any) -> Callable[[torch.Generator], tuple[Any, ...]]:
    """Make a case of these numbers, which need no generator."""
    return lambda generator: numbers


def normal(
    generator: torch.Generator, *shape: int, dtype: torch.dtype = torch.float64, size: float = 1.0
) -> Tensor:
    """Draw normal numbers with the given standard deviation."""
    return (size * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)


def strided(tensor: Tensor) -> Tensor:
    """Return the same values in memory where neighbours do not lie side by side."""
    return tensor.mT.contiguous().mT


def visible(
    generator: torch.Generator, *shape: int, share: float = 0.5, rows_full: bool = True
) -> Tensor:
    """Draw a boolean mask; with `rows_full` each row sees at least one key and not all of them."""
    mask = torch.rand(shape, generator=generator) < share
    if rows_full:
        first = torch.randint(shape[-1], shape[:-1], generator=generator).unsqueeze(-1)
        mask = mask.scatter(-1, first, True)
        mask = mask.scatter(-1, (first + 1) % shape[-1], False)
    return mask
