"""Partial RoPE: only the first features of each head are rotated; the others carry no position.

Source: Black et al. 2022, GPT-NeoX-20B: An Open-Source Autoregressive Language Model, section 2.1,
    https://arxiv.org/abs/2204.06745
Ours / theirs: width = rotary_ndims, a quarter of the head there
Differs: a scheme cuts off the features to rotate, so that any of the course's rotations fits
Same contract as: partial_rotary_factor of transformers' GPT-NeoX, Phi and Qwen 3-Next
"""

from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.positions.rope import RotaryPositions
from course_utils.positions.scheme import PositionScheme
from course_utils.validation import check_float, check_instance


class PartialRotaryPositions(PositionScheme):
    """RoPE on the first `width` features of queries and keys; the others pass as they are.

    Args:
        width: How many features are rotated, even.
        base: The base of the frequencies, base^(-2i/width).
        rotary: What rotates them, instead of RoPE with that base.
        **table: What else `RopeTable` takes: pairing, frequencies, magnitude.
    """

    def __init__(
        self, width: int, base: float = 10000.0, *, rotary: PositionScheme | None = None,
        **table: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        check_instance(PositionScheme, rotary=PositionScheme() if rotary is None else rotary)
        self.width = width
        self.rotary = RotaryPositions(width, base, **table) if rotary is None else rotary

    def rotate(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys, the first features of each rotated by its position.

        Raises:
            ValueError: A head is narrower than the features to rotate.
        """
        check_float("... length width", query=query, key=key)
        narrow = min(query.shape[-1], key.shape[-1])
        if narrow < self.width:
            raise ValueError(f"heads must be at least {self.width} wide, got {narrow}")
        query, query_rest = query.tensor_split((self.width,), dim=-1)
        key, key_rest = key.tensor_split((self.width,), dim=-1)
        query, key = self.rotary.rotate(query, key, query_positions, key_positions)
        return torch.cat((query, query_rest), dim=-1), torch.cat((key, key_rest), dim=-1)
