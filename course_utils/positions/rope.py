"""Rotary position embedding (RoPE): queries and keys are rotated by their positions.

Source: Su et al. 2021, RoFormer: Enhanced Transformer with Rotary Position Embedding, Eq. 13-15
    and 34, https://arxiv.org/abs/2104.09864
Ours / theirs: positions = m, n;  base^(-2i/d_k) = θ_i with i from 1;  (u, v) = (x_{2i-1}, x_{2i})
Differs: i counts from 0. RoFormer pairs neighbours, as `rope_interleaved`; GPT-NeoX and Llama's
    weights at Hugging Face pair feature i with i + d_k/2, as `rope_split_halves`. The two are one
    mechanism with the features in another order, see rope_pairings.py. Values are never rotated.
Same contract as: Hugging Face's apply_rotary_pos_emb of Llama (split halves) and of Cohere
    (interleaved); GPT-NeoX rotates only the first features of each head
"""

from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.positions._rotation import (
    angles,
    frequencies,
    per_head,
    rotate_interleaved,
    rotate_split_halves,
)
from course_utils.positions.rope_table import RopeTable
from course_utils.positions.scheme import PositionScheme
from course_utils.validation import check_even, check_float, check_positions, check_positive


def rope_interleaved(
    x: Float[Tensor, "B H L d_k"], positions: Shaped[Tensor, "*B L"], base: float = 10000.0
) -> Float[Tensor, "B H L d_k"]:
    """Return queries or keys with each pair (2i, 2i+1) rotated by position · base^(-2i/d_k).

    Args:
        x: Queries or keys.
        positions: Each token's position, for all sequences or for each; whole or real numbers.
        base: The last pair rotates nearly `base` times slower than the first.
    """
    return rotate_interleaved(x, *_cos_sin(x, positions, base))


def rope_split_halves(
    x: Float[Tensor, "B H L d_k"], positions: Shaped[Tensor, "*B L"], base: float = 10000.0
) -> Float[Tensor, "B H L d_k"]:
    """Return queries or keys with each pair (i, i + d_k/2) rotated by position · base^(-2i/d_k).

    Arguments and errors are as in `rope_interleaved`.
    """
    return rotate_split_halves(x, *_cos_sin(x, positions, base))


class RotaryPositions(PositionScheme):
    """RoPE as a scheme: every layer rotates its queries and keys.

    Args:
        d_k: Width of a query or key.
        base: The base of the frequencies.
        **table: What else `RopeTable` takes: pairing, frequencies, magnitude.
    """

    def __init__(self, d_k: int, base: float = 10000.0, **table: Any) -> None:
        super().__init__()
        self.table = RopeTable(d_k, base, **table)

    def rotate(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys, each rotated by its position."""
        if query_positions is not key_positions:
            return self.table.rotate(query, query_positions), self.table.rotate(key, key_positions)
        both = self.table.rotate(torch.cat((query, key), dim=1), query_positions)
        sizes = (query.shape[1], key.shape[1])
        rotated_query, rotated_key = both.split_with_sizes(sizes, dim=1)
        return rotated_query, rotated_key


def _cos_sin(x: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
    check_float("... length width", x=x)
    check_even(**{"the width of x": x.shape[-1]})
    check_positive(base=base)
    check_positions(x, positions=positions)
    turned = per_head(angles(positions, frequencies(x.shape[-1], base)), x)
    return turned.cos().to(x.dtype), turned.sin().to(x.dtype)
