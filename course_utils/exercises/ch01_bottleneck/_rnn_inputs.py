"""Inputs for the exercises on recurrent networks."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.inputs import normal, strided

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _parameters(g: torch.Generator, d_in: int, d_h: int, kind: torch.dtype) -> tuple[Tensor, ...]:
    W_xh = normal(g, d_in, d_h, size=0.6, dtype=kind)
    return W_xh, normal(g, d_h, d_h, size=0.6, dtype=kind), normal(g, d_h, size=0.5, dtype=kind)


def step(batch: int, d_in: int, d_h: int, size: float = 1.0, dtype: str = "float64") -> Make:
    """Return a maker of x, h, W_xh, W_hh and b of these sizes."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        x = normal(g, batch, d_in, size=size, dtype=kind)
        h = normal(g, batch, d_h, size=size, dtype=kind).tanh()
        return x, h, *_parameters(g, d_in, d_h, kind)

    return make


def sequences(
    *lengths: int, steps: int, d_in: int, d_h: int, size: float = 1.0, dtype: str = "float64"
) -> Make:
    """Return a maker of x, lengths, W_xh, W_hh and b; the padding holds numbers like the rest."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        x = normal(g, len(lengths), steps, d_in, size=size, dtype=kind)
        return x, torch.tensor(lengths), *_parameters(g, d_in, d_h, kind)

    return make


def zero_padded(*lengths: int, steps: int, d_in: int, d_h: int) -> Make:
    """Make the padding zeros, as an embedding with padding_idx does."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x, kept, *rest = sequences(*lengths, steps=steps, d_in=d_in, d_h=d_h)(g)
        real = torch.arange(steps) < kept.unsqueeze(-1)
        return x * real.unsqueeze(-1), kept, *rest

    return make


def scattered(make: Make) -> Make:
    """Lay every table out in memory column by column."""
    return lambda g: tuple(strided(t) if t.dim() > 1 else t for t in make(g))
