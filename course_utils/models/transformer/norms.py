"""Norms: each token's vector is normalised over its own features alone.

Source: Ba et al. 2016, Layer Normalization, Eq. 3 and 4, https://arxiv.org/abs/1607.06450; Zhang
    and Sennrich 2019, Root Mean Square Layer Normalization, Eq. 4, https://arxiv.org/abs/1910.07467
Ours / theirs: gain, bias = g, b;  eps is not in the papers' formulas, but in all code
Differs: 16-bit inputs are computed in float32 and rounded once, at the end
Same contract as: torch.nn.functional.layer_norm and rms_norm over the last axis
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_number, check_same_dtype, check_shape


def layer_norm(
    x: Float[Tensor, "*batch d"],
    gain: Float[Tensor, " d"],
    bias: Float[Tensor, " d"],
    eps: float = 1e-5,
) -> Float[Tensor, "*batch d"]:
    """Subtract each row's mean, divide by its deviation, then scale and shift each feature.

    Args:
        x: The rows, on the last axis.
        gain: What each feature is multiplied by at the end.
        bias: What is added to it then.
        eps: Added to the variance, under the root, so that a row of equal numbers gives `bias`.
    """
    _check(x, eps, gain=gain, bias=bias)
    wide = _wide(x)
    centred = wide - wide.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return (centred * torch.rsqrt(variance + eps) * gain + bias).to(x.dtype)


def rms_norm(
    x: Float[Tensor, "*batch d"], gain: Float[Tensor, " d"], eps: float = 1e-6
) -> Float[Tensor, "*batch d"]:
    """Divide each row by its root mean square, then scale each feature.

    Args:
        x: The rows, on the last axis.
        gain: What each feature is multiplied by at the end.
        eps: Added to the mean square, under the root.
    """
    _check(x, eps, gain=gain)
    wide = _wide(x)
    size = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (wide * size * gain).to(x.dtype)


def _wide(x: Tensor) -> Tensor:
    """Return x in at least float32: the square of 300 overflows float16."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _check(x: Tensor, eps: float, **vectors: Tensor) -> None:
    check_same_dtype(x=x, **vectors)
    check_number(eps=eps)
    if not x.dim():
        raise ValueError("x needs at least one axis, got a scalar")
    check_shape((x.shape[-1],), **vectors)
