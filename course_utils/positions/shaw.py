"""Shaw's relative positions: a learned vector for each clipped distance, added to keys and values.

Source: Shaw et al. 2018, Self-Attention with Relative Position Representations, Eq. 3-5,
    https://arxiv.org/abs/1803.02155
Ours / theirs: relative_embedding = w^K or w^V;  max_distance = k;  a = a_ij
Differs: the vectors are shared by all heads and, in the scheme, by all layers. Each query meets the
    2k + 1 vectors once and picks, as in their section 3.3: no tensor of shape (L, S, d_k) is made.
Same contract as: a loop over queries and keys, q·(k + a_ij) · scale and Σ_j w_ij (v_j + a_ij)
"""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_utils.positions.scheme import PositionScheme, relative_positions
from course_utils.validation import (
    check_at_least,
    check_float,
    check_integers,
    check_number,
    check_positions,
    check_query_key,
    check_same_dtype,
    check_shape,
)


def shaw_scores(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H S d_k"],
    relative_embedding: Float[Tensor, "two_max_distance_plus_1 d_k"],
    max_distance: int,
    scale: float | None = None,
) -> Float[Tensor, "B H L S"]:
    """Return scale · (q·k + q·a), with a for the distance from query to key, both from 0.

    Args:
        query: What each position asks for.
        key: What each position offers.
        relative_embedding: Row max_distance + r is for a key r places after the query.
        max_distance: Distances beyond it count as it.
        scale: Factor on the scores; None is 1/√d_k.
    """
    check_query_key(query, key)
    _check_table(relative_embedding, max_distance, query.shape[-1])
    check_same_dtype(query=query, relative_embedding=relative_embedding)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1])
    check_number(scale=scale)
    row = _row(*_counted(query.shape[-2], key.shape[-2], query.device), max_distance)
    query = query * scale
    return query @ key.mT + _met(query, relative_embedding, row)


class ShawPositions(PositionScheme):
    """Adds a learned vector for each clipped distance to scores and values.

    Args:
        d_k: Width of a query, key or value.
        max_distance: Distances beyond it count as it.
    """

    def __init__(self, d_k: int, max_distance: int) -> None:
        super().__init__()
        check_at_least(1, d_k=d_k)
        check_at_least(0, max_distance=max_distance)
        self.max_distance = max_distance
        rows = 2 * max_distance + 1
        self.for_keys = nn.Parameter(torch.randn(rows, d_k) / math.sqrt(d_k))
        self.for_values = nn.Parameter(torch.randn(rows, d_k) / math.sqrt(d_k))

    def bias(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Tensor:
        """Return q·a / √d_k for each pair."""
        check_same_dtype("B H length d_k", query=query, key=key)
        check_same_dtype(query=query, table=self.for_keys)
        check_positions(query, query_positions=query_positions)
        check_positions(key, key_positions=key_positions)
        check_shape((*query.shape[:3], self.for_keys.shape[1]), query=query)
        row = _row(query_positions, key_positions, self.max_distance)
        return _met(query / math.sqrt(query.shape[-1]), self.for_keys, row)

    def value_term(
        self,
        weights: Float[Tensor, "B H L S"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Tensor:
        """Return the average of the vectors for values, weighted as the values are."""
        check_float("B H L S", weights=weights)
        check_same_dtype(weights=weights, table=self.for_values)
        check_positions(weights, query_positions=query_positions)
        check_positions(weights.mT, key_positions=key_positions)
        row = _row(query_positions, key_positions, self.max_distance)
        return _gathered(weights, row, len(self.for_values)) @ self.for_values


def _counted(num_queries: int, num_keys: int, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.arange(num_queries, device=device), torch.arange(num_keys, device=device)


def _row(query_positions: Tensor, key_positions: Tensor, max_distance: int) -> Tensor:
    check_integers(query_positions=query_positions, key_positions=key_positions)
    steps = relative_positions(query_positions, key_positions)
    return steps.clamp(-max_distance, max_distance) + max_distance


def _met(query: Tensor, table: Tensor, row: Tensor) -> Tensor:
    met = query @ table.mT  # (..., L, 2k + 1): the product of every query with every vector
    return met.gather(-1, row.expand(*met.shape[:-2], *row.shape[-2:]))


def _gathered(weights: Tensor, row: Tensor, rows: int) -> Tensor:
    """Add up the weights of all keys that share a vector."""
    total = weights.new_zeros(*weights.shape[:-1], rows)
    return total.scatter_add(-1, row.expand(weights.shape), weights)


def _check_table(table: Tensor, max_distance: int, width: int) -> None:
    check_float(relative_embedding=table)
    check_at_least(0, max_distance=max_distance)
    check_shape((2 * max_distance + 1, width), relative_embedding=table)
