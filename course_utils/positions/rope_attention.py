"""Attention with RoPE: queries and keys are rotated, values are not.

Source: Su et al. 2021, RoFormer, Eq. 16, https://arxiv.org/abs/2104.09864
Ours / theirs: query_positions, key_positions = m, n
Differs: queries and keys have positions of their own, so that a decoder can continue from a cache.
Same contract as: scaled_dot_product_attention on queries and keys rotated by rope_interleaved
"""

from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.positions.rope import rope_interleaved


def rope_interleaved_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H S d_k"],
    value: Float[Tensor, "B H S d_v"],
    query_positions: Shaped[Tensor, "*B L"],
    key_positions: Shaped[Tensor, "*B S"],
    base: float = 10000.0,
) -> Float[Tensor, "B H L d_v"]:
    """Return the average of the values; how well keys match depends on their distance too.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position passes on.
        query_positions: Each query's position.
        key_positions: Each key's position.
        base: The base of the frequencies.
    """
    turned_query = rope_interleaved(query, query_positions, base)
    turned_key = rope_interleaved(key, key_positions, base)
    return scaled_dot_product_attention(turned_query, turned_key, value)
