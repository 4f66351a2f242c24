"""Shaw's scores with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception


def clipped(steps: Tensor, reach: int) -> Tensor:
    """Return the row of the table for each distance, as it should be done."""
    return steps.clamp(-reach, reach) + reach


def key_less_query(own: Tensor, place: Tensor) -> Tensor:
    """Return key minus query."""
    return place - own


def counted(num_queries: int, num_keys: int) -> tuple[Tensor, Tensor]:
    """Return the positions of queries and keys: both from 0."""
    return torch.arange(num_queries).unsqueeze(-1), torch.arange(num_keys)


def content(query: Tensor, key: Tensor) -> Tensor:
    """Return q·k."""
    return query @ key.mT


def relative(query: Tensor, key: Tensor, vectors: Tensor) -> Tensor:
    """Return q·a, from the vectors of shape (L, S, d_k)."""
    return torch.einsum("...ld,lsd->...ls", query, vectors)


def root(query: Tensor, key: Tensor) -> float:
    """Return the right scale."""
    return 1 / math.sqrt(query.shape[-1])


def build(
    places: Callable[[int, int], tuple[Tensor, Tensor]] = counted,
    steps: Callable[[Tensor, Tensor], Tensor] = key_less_query,
    row: Callable[[Tensor, int], Tensor] = clipped,
    content: Callable[[Tensor, Tensor], Tensor] = content,
    relative: Callable[[Tensor, Tensor, Tensor], Tensor] = relative,
    factor: Callable[[Tensor, Tensor], float] = root,
    pick: Callable[[float | None, float], float] = lambda given, own: (
        own if given is None else given
    ),
    join: Callable[[Tensor, Tensor, float], Tensor] = lambda c, r, scale: scale * (c + r),
) -> Function:
    """Return the scores with some of their steps exchanged.

    Args:
        places: Positions of queries (L, 1) and keys (S) from their numbers.
        steps: The distances from those two.
        row: The rows of the table from distances and max_distance.
        content: What query and key make of each other.
        relative: What they make of the vectors (L, S, d_k).
        factor: The default scale.
        pick: The scale that is used, from the given one and the default.
        join: The scores from both parts and the scale.
    """

    def scores(
        query: Tensor, key: Tensor, table: Tensor, max_distance: int, scale: float | None = None
    ) -> Tensor:
        used = pick(scale, factor(query, key))
        chosen = row(steps(*places(query.shape[-2], key.shape[-2])), max_distance)
        return join(content(query, key), relative(query, key, table[chosen]), used)

    return scores


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])
