"""Inputs for the exercise on multi-head attention."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.checking.inputs import normal, strided, visible

Make = Callable[[torch.Generator], tuple[Any, ...]]


def made(
    batch: int = 2,
    num_heads: int = 3,
    queries: int = 5,
    keys: int = 7,
    d_k: int = 4,
    size: float = 1.0,
    dtype: str = "float64",
) -> Make:
    """Return a maker of three streams, four matrices and a number of heads.

    The matrices keep the size of what they are applied to, so that the softmax does not saturate:
    a saturated one would hide a missing scale.
    """

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind, d_model = getattr(torch, dtype), num_heads * d_k
        query = normal(g, batch, queries, d_model, size=size, dtype=kind)
        key = normal(g, batch, keys, d_model, size=size, dtype=kind)
        value = normal(g, batch, keys, d_model, dtype=kind)
        square = (d_model, d_model)
        weights = [normal(g, *square, size=d_model**-0.5, dtype=kind) for _ in range(4)]
        return query, key, value, *weights, num_heads

    return make


def with_mask(*shape: int, **sizes: Any) -> Make:
    """Add a mask of this shape in which every row sees some keys and not others."""
    make = made(**sizes)
    return lambda g: (*make(g), visible(g, *shape))


def self_attention(g: torch.Generator) -> tuple[Any, ...]:
    """Give the same tensor as query, key and value."""
    query, _, _, *rest = made(queries=6)(g)
    return query, query, query, *rest


def against_the_mask(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about -20,000 where the mask allows and +20,000 where it forbids."""
    return _pushed(g, visible=-1.0, hidden=1.0)


def far_below(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about -40,000 where the mask allows and -60,000 where it forbids."""
    return _pushed(g, visible=-2.0, hidden=-3.0)


def _pushed(g: torch.Generator, visible: float, hidden: float) -> tuple[Any, ...]:
    query, key, value, *weights, num_heads = made(queries=3, keys=6, d_k=4)(g)
    mask = torch.tensor([True, False, True, True, False, False])
    direction = torch.where(mask, visible, hidden).double().unsqueeze(-1)
    eye = torch.eye(query.shape[-1], dtype=query.dtype)
    query, key = query.abs() + 1.0, key + 1e4 * direction
    return query, key, value, eye, eye.clone(), *weights[2:], num_heads, mask.expand(3, 6).clone()


def empty_rows(g: torch.Generator) -> tuple[Any, ...]:
    """Forbid everything to one query of each of two sequences."""
    mask = visible(g, 2, 1, 5, 4)
    mask[1, 0, 2] = False
    mask[0, 0, 4] = False
    return *made(keys=4)(g), mask


def empty_for_all(g: torch.Generator) -> tuple[Any, ...]:
    """Forbid everything to one query of every sequence and head."""
    mask = visible(g, 5, 7)
    mask[3] = False
    return *made()(g), mask


def empty_in_one_head(g: torch.Generator) -> tuple[Any, ...]:
    """Forbid everything to one query in one head only, and to another in all heads but one."""
    mask = visible(g, 3, 5, 6)
    mask[1, 2] = False
    mask[:2, 4] = False
    return *made(keys=6)(g), mask


def empty_sequence(g: torch.Generator) -> tuple[Any, ...]:
    """Hide all keys of one sequence, as if it were padding alone."""
    mask = visible(g, 2, 1, 1, 7)
    mask[1] = False
    return *made()(g), mask


def strided_inputs(g: torch.Generator) -> tuple[Any, ...]:
    """Lay all tensors out in memory column by column."""
    *tensors, num_heads = made()(g)
    return *(strided(tensor) for tensor in tensors), num_heads


def low_precision(g: torch.Generator) -> tuple[Any, ...]:
    """Make bfloat16 inputs with a mask."""
    return with_mask(5, 7, dtype="bfloat16")(g)
