"""Weights that are exactly zero: sparsemax, and entmax with a shape that can be learned.

Source: Martins and Astudillo 2016, From Softmax to Sparsemax, Algorithm 1,
    https://arxiv.org/abs/1602.02068; Correia, Niculae and Martins 2019, Adaptively Sparse
    Transformers, Eq. 2 to 4, https://arxiv.org/abs/1909.00015
Ours / theirs: scores = z;  alpha = α: 1 is softmax, 2 is sparsemax;  threshold = τ
Differs: a row that is -inf everywhere gives zeros. No mask is predicted and nothing is skipped:
    every score is computed first, so attention with these weights costs what softmax costs.
Same contract as: p = argmax over the simplex of p·z + H_α(p), with Tsallis' entropy H_α
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import broadcast_shape, check_float, check_number

_HALVINGS = 60  # of an interval of length 1: beyond the digits of float64


def sparsemax(scores: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch S"]:
    """Return the point of the simplex nearest to the scores; small ones become 0.

    Args:
        scores: Any real numbers, -inf for what may not be chosen.
    """
    z = _shifted(scores)
    if z.shape[-1] == 0:
        return z
    descending = z.sort(dim=-1, descending=True).values
    count = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype, device=z.device)
    sums = descending.cumsum(dim=-1) - 1.0
    # The k largest are kept, for the largest k whose own threshold is below the k-th.
    kept = (count * descending > sums).sum(dim=-1, keepdim=True).clamp_min(1)  # 0 under NaN
    threshold = sums.gather(-1, kept - 1) / kept
    return _empty_rows_to_zero((z - threshold).clamp_min(0.0), scores)


def entmax(scores: Float[Tensor, "*batch S"], alpha: float | Tensor) -> Float[Tensor, "*batch S"]:
    """Return weights between softmax (alpha near 1) and sparsemax (2); larger is sparser.

    The threshold is found by bisection. A last step of Newton's method, which changes only
    the last digits, tells autograd how it depends on the scores and on alpha.

    Args:
        scores: Any real numbers, -inf for what may not be chosen.
        alpha: Above 1; a tensor that broadcasts to the scores, (H, 1, 1) say, can be learned.
    """
    check_float(scores=scores)
    _check_alpha(alpha, scores)
    sharpness = torch.as_tensor(alpha, dtype=scores.dtype, device=scores.device) - 1.0
    if not bool((sharpness > 0).all()):
        raise ValueError(f"alpha must be above 1, got {alpha}")
    z = _shifted(scores, sharpness)
    if z.shape[-1] == 0:
        return z
    threshold, power = _bisected(z.detach(), 1.0 / sharpness.detach()), 1.0 / sharpness
    powers = _power(z - threshold, power)
    slope = (power * _power(z - threshold, power - 1.0)).sum(-1, keepdim=True).detach()
    threshold = threshold + (powers.sum(-1, keepdim=True) - 1.0) / slope
    return _empty_rows_to_zero(_power(z - threshold, power), scores)


def _bisected(z: Tensor, power: Tensor) -> Tensor:
    """Return the threshold at which the powers of what is above it sum to 1."""
    low = torch.full_like(z[..., :1], -1.0)
    high = torch.zeros_like(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        too_low = _power(z - middle, power).sum(-1, keepdim=True) >= 1.0
        low, high = torch.where(too_low, middle, low), torch.where(too_low, high, middle)
    return low


def _power(x: Tensor, power: Tensor) -> Tensor:
    """Return x^power where x is above 0, and 0 elsewhere, with gradients that are finite."""
    inside = x > 0
    return torch.where(inside, torch.where(inside, x, 1.0).pow(power), 0.0)


def _shifted(scores: Tensor, factor: float | Tensor = 1.0) -> Tensor:
    """Return factor · scores with their maximum at 0, cut off where a weight is 0 in any case."""
    check_float(scores=scores)
    if scores.dim() == 0:
        raise ValueError("scores need at least one axis, got a scalar")
    if scores.shape[-1] == 0:
        return scores.clone()
    hidden = scores == -torch.inf
    empty = hidden.all(dim=-1, keepdim=True)
    peak = scores.detach().amax(dim=-1, keepdim=True).masked_fill(empty, 0.0)
    z = (scores - peak).masked_fill(hidden, 0.0) * factor
    # No threshold is below -1; -2 is out of its reach, and 0 serves where nothing is left.
    return z.clamp_min(-2.0).masked_fill(hidden & ~empty, -2.0)


def _check_alpha(alpha: float | Tensor, scores: Tensor) -> None:
    if not isinstance(alpha, Tensor):
        check_number(alpha=alpha)
        return
    check_float(alpha=alpha)
    if broadcast_shape(alpha.shape, scores.shape) != scores.shape:
        raise ValueError(
            f"alpha must broadcast to the scores {tuple(scores.shape)}, got {tuple(alpha.shape)}"
        )


def _empty_rows_to_zero(weights: Tensor, scores: Tensor) -> Tensor:
    empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
    unknown = scores.isnan().any(dim=-1, keepdim=True)  # comparisons with NaN would hide it
    return weights.masked_fill(empty, 0.0).masked_fill(unknown, torch.nan)
