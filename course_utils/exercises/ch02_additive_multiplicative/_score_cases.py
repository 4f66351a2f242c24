"""Inputs and cases for the exercises that score queries against keys."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case
from course_utils.checking.inputs import normal, strided


@dataclass(frozen=True)
class Sizes:
    """How large everything is, and in which precision.

    Attributes:
        batch: Sequences.
        queries: Queries of each.
        keys: Keys of each.
        d_q: Width of a query.
        d_k: Width of a key.
        d_a: Width of the hidden layer, where there is one.
        size: Standard deviation of query and key.
        dtype: Name of the dtype.
    """

    batch: int
    queries: int
    keys: int
    d_q: int
    d_k: int
    d_a: int = 1
    size: float = 1.0
    dtype: str = "float64"


Draw = Callable[..., Tensor]
Parameters = Callable[[Draw, Sizes], tuple[Tensor, ...]]


def score_inputs(sizes: Sizes, parameters: Parameters) -> Callable[..., tuple[Any, ...]]:
    """Return a maker of query, key and whatever `parameters` draws."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        def draw(*shape: int, size: float = 1.0) -> Tensor:
            return normal(g, *shape, size=size, dtype=getattr(torch, sizes.dtype))

        query = draw(sizes.batch, sizes.queries, sizes.d_q, size=sizes.size)
        key = draw(sizes.batch, sizes.keys, sizes.d_k, size=sizes.size)
        return query, key, *parameters(draw, sizes)

    return make


def score_cases(parameters: Parameters, first: Sizes, same_width: bool = False) -> tuple[Case, ...]:
    """Return the cases, from easy to hard.

    Args:
        parameters: Draws what comes after query and key.
        first: The sizes of the first case: chosen so that everything fits any way round, since a
            mistake with axes then gives numbers, and can be named by them.
        same_width: Whether a key must be as wide as a query.
    """
    plan = (
        (f"{first.queries} queries, {first.keys} keys; everything fits any way round", first),
        ("a batch of 2: 4 queries, 5 keys", Sizes(2, 4, 5, 3, 6, 7)),
        ("more queries than keys", Sizes(3, 6, 2, 5, 4, 3)),
        ("one query: a decoder's step", Sizes(2, 1, 6, 4, 3, 5)),
        ("one key", Sizes(2, 3, 1, 2, 5, 4)),
        ("one sequence", Sizes(1, 3, 4, 5, 2, 6)),
        ("every width 1", Sizes(2, 3, 5, 1, 1, 1)),
        ("large inputs", Sizes(2, 3, 4, 6, 5, 3, size=40.0)),
        ("float32", Sizes(2, 5, 3, 4, 6, 8, dtype="float32")),
        ("bfloat16", Sizes(2, 3, 4, 2, 3, 3, dtype="bfloat16")),
    )
    made = []
    for index, (name, sizes) in enumerate(plan):
        if same_width:
            sizes = Sizes(**{**vars(sizes), "d_k": sizes.d_q})
        low = 0.3 if sizes.dtype == "bfloat16" else None
        make = score_inputs(sizes, parameters)
        made.append(Case(name, make, gradient="equal" if index in (0, 1, 3) else "", tolerance=low))
    uneven = score_inputs(Sizes(2, 3, 5, 4, 4 if same_width else 6, 2), parameters)

    def scattered(g: torch.Generator) -> tuple[Any, ...]:
        return tuple(strided(t) if t.dim() > 1 else t for t in uneven(g))

    return *made, Case("inputs that do not lie in memory row by row", scattered)
