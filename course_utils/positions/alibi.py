"""ALiBi: a penalty on each score that grows with the distance, at a fixed slope for each head.

Source: Press et al. 2022, Train Short, Test Long: Attention with Linear Biases Enables Input Length
    Extrapolation, section 3, https://arxiv.org/abs/2108.12409
Ours / theirs: slopes = m
Differs: the last query is at the last key, so that the same bias serves a cache; a key after
    the query gets -slope · distance too, for bidirectional attention.
Same contract as: BLOOM's slopes at Hugging Face; its bias differs from ours by a constant in each
    row, which the softmax cancels
"""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.positions.scheme import PositionScheme, relative_positions
from course_utils.validation import check_at_least, check_float


def alibi_slopes(num_heads: int) -> Float[Tensor, " H"]:
    """Return 2^(-8h/H) for h from 1, where H is a power of two; nothing here is learned.

    For other counts: the slopes of the largest power of two below, then every other slope of twice
    as many heads.

    Args:
        num_heads: Number of heads.
    """
    check_at_least(1, num_heads=num_heads)
    power = 1 << (num_heads.bit_length() - 1)
    between = _geometric(2 * power)[0::2]
    slopes = torch.cat((_geometric(power), between[: num_heads - power]))
    return slopes.to(torch.get_default_dtype())


def alibi_bias(num_heads: int, num_queries: int, num_keys: int) -> Float[Tensor, "H L S"]:
    """Return -slope · distance for each head, query and key; 0 at the query's own key.

    Args:
        num_heads: Number of heads.
        num_queries: Number of queries; the last one is at the last key.
        num_keys: Number of keys.
    """
    check_at_least(1, num_queries=num_queries, num_keys=num_keys)
    place = torch.arange(num_keys)
    own = torch.arange(num_queries) + num_keys - num_queries
    return _penalty(alibi_slopes(num_heads), relative_positions(own, place))


class AlibiPositions(PositionScheme):
    """Adds -slope · distance to each score; no parameters.

    Args:
        num_heads: Number of heads.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slopes: Tensor
        self.register_buffer("slopes", alibi_slopes(num_heads), persistent=False)

    def bias(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H _ d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Tensor:
        """Return the penalties for each head and pair."""
        check_float(query=query)
        steps = relative_positions(query_positions, key_positions)
        return _penalty(self.slopes.to(query.dtype), steps)


def _geometric(num_heads: int) -> Tensor:
    head = torch.arange(1, num_heads + 1, dtype=torch.float64)
    return torch.exp2(-8 * head / num_heads)


def _penalty(slopes: Tensor, steps: Tensor) -> Tensor:
    return -slopes[:, None, None] * steps.abs()
