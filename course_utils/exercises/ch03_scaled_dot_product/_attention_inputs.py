"""Inputs for the exercise on scaled dot-product attention."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.inputs import normal, strided, visible

Make = Callable[[torch.Generator], tuple[Any, ...]]


def made(
    *leading: int,
    queries: int,
    keys: int,
    d_k: int,
    d_v: int,
    size: float = 1.0,
    dtype: str = "float64",
) -> Make:
    """Return a maker of query, key and value of these sizes."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        query = normal(g, *leading, queries, d_k, size=size, dtype=kind)
        key = normal(g, *leading, keys, d_k, size=size, dtype=kind)
        return query, key, normal(g, *leading, keys, d_v, dtype=kind)

    return make


def with_mask(shape: tuple[int, ...], *leading: int, **sizes: Any) -> Make:
    """Add a mask of this shape in which every row sees some keys and not others."""
    make = made(*leading, **sizes)
    return lambda g: (*make(g), visible(g, *shape))


def with_scale(scale: float, masked: bool = False) -> Make:
    """Give the scale, after a mask or None."""
    make = made(2, 3, queries=4, keys=7, d_k=5, d_v=6)
    return lambda g: (*make(g), visible(g, 4, 7) if masked else None, scale)


def against_the_mask(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about -20,000 where the mask allows and +20,000 where it forbids."""
    query, key, value = made(2, queries=3, keys=6, d_k=4, d_v=5)(g)
    mask = torch.tensor([True, False, True, True, False, False])
    direction = torch.where(mask, -1.0, 1.0).double().unsqueeze(-1)
    query = query.abs() + 1.0
    key = key + 1e4 * direction
    return query, key, value, mask.unsqueeze(0).expand(3, 6).clone()


def empty_row(g: torch.Generator) -> tuple[Any, ...]:
    """Forbid everything to one query of one batch."""
    query, key, value = made(2, 3, queries=5, keys=4, d_k=6, d_v=7)(g)
    mask = visible(g, 2, 1, 5, 4)
    mask[1, 0, 2] = False
    mask[0, 0, 4] = False
    return query, key, value, mask


def strided_inputs(g: torch.Generator) -> tuple[Tensor, ...]:
    """Lay all three out in memory column by column."""
    query, key, value = made(2, queries=3, keys=6, d_k=8, d_v=5)(g)
    return strided(query), strided(key), strided(value)


def low_precision(g: torch.Generator) -> tuple[Any, ...]:
    """Make bfloat16 inputs with a mask."""
    query, key, value = made(2, queries=3, keys=5, d_k=4, d_v=6, dtype="bfloat16")(g)
    return query, key, value, visible(g, 3, 5)
