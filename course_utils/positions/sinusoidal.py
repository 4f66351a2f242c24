"""Sinusoidal encodings, and the matrix that shifts them.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.5,
    https://arxiv.org/abs/1706.03762
Ours / theirs: num_positions, p = pos;  pair i is the same: features 2i and 2i+1
Differs: fairseq and tensor2tensor put all sines before all cosines and divide i by d/2 - 1 instead
    of d/2, so that the last wavelength is 2π·base. The shift matrix multiplies from the right.
Same contract as: a loop over positions and pairs; Marian's encoding at Hugging Face, with its sines
    and cosines interleaved
"""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.positions._rotation import angles, frequencies
from course_utils.positions.scheme import PositionScheme
from course_utils.validation import (
    check_at_least,
    check_even,
    check_float,
    check_int,
    check_positions,
    check_positive,
)


def sinusoidal_encoding(
    num_positions: int, d_model: int, base: float = 10000.0
) -> Float[Tensor, "num_positions d_model"]:
    """Return sin(p / base^(2i/d_model)) in feature 2i and its cosine in feature 2i+1, p from 0.

    Args:
        num_positions: How many positions, from 0.
        d_model: Width of the stream, even.
        base: Wavelengths go from 2π to nearly 2π · base.
    """
    check_at_least(1, num_positions=num_positions)
    return _encoded(torch.arange(num_positions), d_model, base).to(torch.get_default_dtype())


def shift_matrix(
    offset: int, d_model: int, base: float = 10000.0
) -> Float[Tensor, "d_model d_model"]:
    """Return M with pe[p + offset] = pe[p] @ M for every p: one rotation for each pair.

    Args:
        offset: How far to shift; any whole number.
        d_model: Width of the stream, even.
        base: The base of the encoding.
    """
    check_int(offset=offset)
    check_even(d_model=d_model)
    check_positive(base=base)
    turned = torch.as_tensor(offset) * frequencies(d_model, base)
    cos, sin = turned.cos(), turned.sin()
    # The pair is (sine, cosine): sin(a + b) = sin a cos b + cos a sin b fills the first column.
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1).view(-1, 2, 2)
    shift: Tensor = torch.block_diag(*blocks)
    return shift.to(torch.get_default_dtype())


class SinusoidalPositions(PositionScheme):
    """Adds the encoding of each position to the stream; no parameters.

    Args:
        base: The base of the encoding.
    """

    def __init__(self, base: float = 10000.0) -> None:
        super().__init__()
        check_positive(base=base)
        self.base = base

    def embed(self, x: Float[Tensor, "B L d_model"], positions: Shaped[Tensor, "*B L"]) -> Tensor:
        """Return the stream plus the encodings."""
        check_float("B length width", x=x)
        check_positions(x, positions=positions)
        return x + _encoded(positions, x.shape[-1], self.base).to(x.dtype)


def _encoded(
    positions: Shaped[Tensor, "*axes"], d_model: int, base: float
) -> Float[Tensor, "*axes d_model"]:
    check_even(d_model=d_model)
    check_positive(base=base)
    turned = angles(positions, frequencies(d_model, base))
    return torch.stack((turned.sin(), turned.cos()), dim=-1).flatten(-2)
