"""Sinusoidal encodings with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def exponents(d_model: int) -> Tensor:
    """Return 2i/d for each pair i."""
    return 2 * pairs(d_model) / d_model


def pairs(d_model: int) -> Tensor:
    """Return the number of each pair."""
    return torch.arange(d_model // 2, dtype=torch.float64)


def from_zero(num_positions: int) -> Tensor:
    """Return the positions."""
    return torch.arange(num_positions, dtype=torch.float64)


def quotient(place: Tensor, exponent: Tensor, base: float) -> Tensor:
    """Return the right angles."""
    return place[:, None] / torch.as_tensor(float(base)).double() ** exponent


def woven(sin: Tensor, cos: Tensor) -> Tensor:
    """Put sine and cosine of a pair side by side."""
    return torch.stack((sin, cos), dim=-1).flatten(-2)


def waves(angles: Tensor) -> tuple[Tensor, Tensor]:
    """Return sines and cosines."""
    return angles.sin(), angles.cos()


def build(
    place: Callable[[int], Tensor] = from_zero,
    exponent: Callable[[int], Tensor] = exponents,
    angle: Callable[[Tensor, Tensor, float], Tensor] = quotient,
    wave: Callable[[Tensor], tuple[Tensor, Tensor]] = waves,
    join: Callable[[Tensor, Tensor], Tensor] = woven,
    base: Callable[[float], float] = lambda base: base,
) -> Function:
    """Return the encoding with some of its steps exchanged.

    Args:
        place: The positions, from their number.
        exponent: The exponent of the base for each pair, from the width.
        angle: The angles from those two and the base.
        wave: What is made of an angle: the two features of a pair.
        join: How the two are laid out.
        base: The base that is used.
    """

    def encode(num_positions: int, d_model: int, base_given: float = 10000.0) -> Tensor:
        angles = angle(place(num_positions), exponent(d_model), base(base_given))
        return join(*wave(angles)).to(torch.get_default_dtype())

    return encode


def by_feature(sine: Callable[[int], float], cosine: Callable[[int], float]) -> Function:
    """Return the encoding with an exponent for each feature: 2i and 2i + 1 have their own.

    Args:
        sine: The exponent, times d, from the number of an even feature.
        cosine: The same from the number of an odd feature.
    """

    def encode(num_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
        pe = torch.zeros(num_positions, d_model, dtype=torch.float64)
        for k in range(d_model):
            power = cosine(k) if k % 2 else sine(k)
            angles = from_zero(num_positions) / base ** (power / d_model)
            pe[:, k] = angles.cos() if k % 2 else angles.sin()
        return pe.to(torch.get_default_dtype())

    return encode
