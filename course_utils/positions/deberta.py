"""DeBERTa's disentangled scores: content with content, content with distance, and the reverse.

Source: He et al. 2021, DeBERTa: Decoding-enhanced BERT with Disentangled Attention, section 3.1,
    Eq. 2-4, https://arxiv.org/abs/2006.03654
Ours / theirs: position_query = P W_q,r and position_key = P W_k,r, split into heads = Q^r and K^r;
    max_distance = k;  the row of query i and key j is δ(i, j)
Differs: the paper numbers the last term's row δ(j, i); its authors' code, with which the published
    models were trained, takes δ(i, j) there too, and so does this. Rows that no pair has are not
    multiplied. The scheme learns Q^r and K^r as they are, once for all layers.
Same contract as: Hugging Face's DebertaV2 DisentangledSelfAttention without buckets
"""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_utils.positions.scheme import PositionScheme, relative_positions
from course_utils.validation import (
    check_at_least,
    check_integers,
    check_number,
    check_positions,
    check_query_key,
    check_same_dtype,
    check_shape,
)


def disentangled_scores(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H S d_k"],
    position_query: Float[Tensor, "H two_max_distance d_k"],
    position_key: Float[Tensor, "H two_max_distance d_k"],
    max_distance: int,
    scale: float | None = None,
) -> Float[Tensor, "B H L S"]:
    """Return scale · (q·k + q·K^r + k·Q^r), with the rows for the distance of each pair.

    Query i and key j, both counted from 0, take row i - j + max_distance of the two tables, or the
    first or last row where that is out of range.

    Args:
        query: What each position asks for.
        key: What each position offers.
        position_query: The queries of the distances: position to content.
        position_key: The keys of the distances: content to position.
        max_distance: Half the number of rows.
        scale: Factor on the scores; None is 1/√(3 d_k), for three terms.
    """
    check_query_key(query, key)
    check_same_dtype("B H length d_k", query=query, key=key)
    check_at_least(1, max_distance=max_distance)
    tables = {"position_query": position_query, "position_key": position_key}
    check_same_dtype(query=query, **tables)
    check_shape((query.shape[1], 2 * max_distance, query.shape[-1]), **tables)
    scale = 1.0 / math.sqrt(3 * query.shape[-1]) if scale is None else scale
    check_number(scale=scale)
    at, of = (torch.arange(x.shape[-2], device=x.device) for x in (query, key))
    query, key_again = query * scale, key * scale
    return query @ key.mT + _terms(query, key_again, at, of, position_query, position_key)


class DebertaPositions(PositionScheme):
    """Adds both terms between content and distance to the scores, and scales for three terms.

    Args:
        num_heads: Number of heads; each has its own vectors.
        d_k: Width of a query or key.
        max_distance: Distances beyond it share a vector; DeBERTa has 512.
    """

    def __init__(self, num_heads: int, d_k: int, max_distance: int = 512) -> None:
        super().__init__()
        check_at_least(1, num_heads=num_heads, d_k=d_k, max_distance=max_distance)
        shape = (num_heads, 2 * max_distance, d_k)
        self.for_queries = nn.Parameter(torch.randn(shape) / math.sqrt(d_k))
        self.for_keys = nn.Parameter(torch.randn(shape) / math.sqrt(d_k))

    def rotate(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Tensor, Tensor]:
        """Return queries divided by √3, since three terms share a score, and keys as they are."""
        check_same_dtype("B H length d_k", query=query, key=key)
        return query / math.sqrt(3), key

    def bias(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Tensor:
        """Return (q·K^r + k·Q^r / √3) / √d_k for each pair, for `query` scaled by `rotate`."""
        check_same_dtype("B H length d_k", query=query, key=key)
        check_same_dtype(query=query, table=self.for_keys)
        check_positions(query, query_positions=query_positions)
        check_positions(key, key_positions=key_positions)
        heads, _, d_k = self.for_keys.shape
        check_shape((query.shape[0], heads, query.shape[2], d_k), query=query)
        check_shape((query.shape[0], heads, key.shape[2], d_k), key=key)
        query, key = query / math.sqrt(d_k), key / math.sqrt(3 * d_k)
        return _terms(query, key, query_positions, key_positions, self.for_queries, self.for_keys)


def _terms(
    query: Tensor, key: Tensor, at: Tensor, of: Tensor, position_query: Tensor, position_key: Tensor
) -> Tensor:
    """Return content to position and position to content, for queries and keys already scaled."""
    check_integers(query_positions=at, key_positions=of)
    num_rows = position_key.shape[-2]
    row = (num_rows // 2 - relative_positions(at, of)).clamp(0, num_rows - 1)
    first, last = (int(row.min()), int(row.max())) if row.numel() else (0, 0)
    used, row = (-2, first, last + 1 - first), row - first
    to_position = _picked(query @ position_key.narrow(*used).mT, row)
    to_content = _picked(key @ position_query.narrow(*used).mT, row.mT)
    return to_position + to_content.mT


def _picked(met: Tensor, row: Tensor) -> Tensor:
    return met.gather(-1, row.expand(*met.shape[:-2], *row.shape[-2:]))
