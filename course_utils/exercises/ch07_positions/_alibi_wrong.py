"""ALiBi's bias with exchangeable steps, and what of it is judged."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.positions import alibi_slopes


def _past(distance: Tensor, num_keys: int) -> Tensor:
    return -distance


def build(
    slope: Callable[[int], Tensor] = alibi_slopes,
    first: Callable[[int, int], int] = lambda queries, keys: keys - queries,
    penalty: Callable[[Tensor, int], Tensor] = _past,
    meet: Callable[[Tensor, Tensor], Tensor] = lambda slope, fall: slope[:, None, None] * fall,
) -> Function:
    """Return the bias with some of its steps exchanged.

    Args:
        slope: The slopes of the heads.
        first: The position of the first query, from the numbers of queries and keys.
        penalty: What a distance (positive in the past) costs, with the number of keys.
        meet: How slopes and penalties come together.
    """

    def bias(num_heads: int, num_queries: int, num_keys: int) -> Tensor:
        own = torch.arange(num_queries).unsqueeze(-1) + first(num_queries, num_keys)
        distance = (own - torch.arange(num_keys)).to(torch.get_default_dtype())
        return meet(slope(num_heads), penalty(distance, num_keys))

    return bias


def future(num_queries: int, num_keys: int) -> Tensor:
    """Return which entries are those of keys after the query: they are not judged."""
    own = torch.arange(num_queries).unsqueeze(-1) + num_keys - num_queries
    return torch.arange(num_keys) > own


def judged(fn: Function, num_heads: int, num_queries: int, num_keys: int) -> Any:
    """Set what is not judged to zero."""
    got = fn(num_heads, num_queries, num_keys)
    if not isinstance(got, Tensor) or got.shape != (num_heads, num_queries, num_keys):
        return got
    return got.masked_fill(future(num_queries, num_keys), 0)


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])


def fell(penalty: Callable[[Tensor], Tensor]) -> Function:
    """Return the bias with another penalty for a distance."""
    return build(penalty=lambda distance, keys: penalty(distance))
