"""RoPE's cosines and sines, computed once for the positions seen so far, with any frequencies.

Source: Su et al. 2021, RoFormer, Eq. 34, https://arxiv.org/abs/2104.09864
Ours / theirs: frequencies = θ
Differs: the table grows when a later position comes, and is not a buffer: a model cast to bfloat16
    would cast a buffer too, and then position 257 would equal 256.
Same contract as: rope_interleaved and rope_split_halves, position by position
"""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.positions._rotation import PARTNERS, WIDENED, angles, frequencies, per_head
from course_utils.validation import (
    check_even,
    check_float,
    check_number,
    check_positions,
    check_positive,
    check_shape,
)

Pairing = Literal["interleaved", "split halves"]


def rope_frequencies(d_k: int, base: float = 10000.0) -> Float[Tensor, " half_width"]:
    """Return base^(-2i/d_k) for each pair i: radians per position, in float64.

    Args:
        d_k: Width of a query or key.
        base: The first pair rotates by 1 radian per position, the last by nearly 1/base.
    """
    check_even(d_k=d_k)
    check_positive(base=base)
    return frequencies(d_k, base)


class RopeTable:
    """Rotates queries and keys, and remembers the cosines and sines of whole positions.

    Args:
        d_k: Width of a query or key.
        base: The base of the frequencies.
        pairing: "interleaved" or "split halves".
        frequencies: Radians per position for each pair, instead of the base's own: how positions
            are interpolated, and what YaRN changes.
        magnitude: Factor on the rotated vectors (YaRN's; 1 elsewhere).
    """

    def __init__(
        self,
        d_k: int,
        base: float = 10000.0,
        *,
        pairing: Pairing = "split halves",
        frequencies: Float[Tensor, " half_width"] | None = None,
        magnitude: float = 1.0,
    ) -> None:
        own = rope_frequencies(d_k, base)
        check_number(magnitude=magnitude)
        if not isinstance(pairing, str) or pairing not in get_args(Pairing):
            raise ValueError(f"pairing must be one of {get_args(Pairing)}, got {pairing!r}")
        if frequencies is not None:
            check_float(frequencies=frequencies)
            check_shape(own.shape, frequencies=frequencies)
        self.d_k, self.pairing, self.magnitude = d_k, pairing, magnitude
        self.frequencies = own if frequencies is None else frequencies.to(torch.float64)
        self._rows: dict[tuple[torch.device, torch.dtype], tuple[Tensor, Tensor]] = {}

    def rotate(
        self, x: Float[Tensor, "B H L d_k"], positions: Shaped[Tensor, "*B L"]
    ) -> Float[Tensor, "B H L d_k"]:
        """Return queries or keys, rotated by their positions.

        Args:
            x: Queries or keys.
            positions: Each token's position; whole numbers from 0 are looked up, others computed.
        """
        check_float(x=x)
        if x.dim() < 2 or x.shape[-1] != self.d_k:
            raise ValueError(
                f"x must have the axes (..., length, {self.d_k}), got {tuple(x.shape)}"
            )
        check_positions(x, positions=positions)
        cos, sin = self._cos_sin(x, positions)
        return x * cos + PARTNERS[self.pairing](x) * sin

    def _cos_sin(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return for each feature the cosine, and the sine with the sign that its partner gets."""
        one = positions.numel() == 1  # while decoding: neither searched nor looked up
        if positions.is_floating_point() or not positions.numel():
            return self._in_heads(x, *self._made(positions, x.dtype))
        first, last = (int(positions),) * 2 if one else map(int, positions.aminmax())
        if first < 0:
            return self._in_heads(x, *self._made(positions, x.dtype))
        place = (x.device, x.dtype)
        if place not in self._rows or last >= len(self._rows[place][0]):
            # Twice as far as needed, so that decoding one token at a time rarely makes a new table.
            with torch.inference_mode(False):  # what is made there could never train
                every = torch.arange(2 * (last + 1), device=x.device)
                self._rows[place] = self._made(every, x.dtype)
        cos, sin = self._rows[place]
        if one:
            return cos.narrow(0, last, 1), sin.narrow(0, last, 1)
        return self._in_heads(x, cos[positions], sin[positions])

    @staticmethod
    def _in_heads(x: Tensor, *tables: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = (per_head(table, x) for table in tables)
        return cos, sin

    def _made(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        turned = angles(positions, self.frequencies)
        cos, sin = turned.cos() * self.magnitude, turned.sin() * self.magnitude
        return WIDENED[self.pairing](cos.to(dtype), sin.to(dtype))
