"""Softmaxes that are wrong, one way each."""

import torch
from torch import Tensor

from course_utils.attention import stable_softmax

INF = torch.inf


def plain(scores: Tensor, dim: int = -1) -> Tensor:
    """Softmax over an axis as torch has it: NaN on an empty row."""
    return torch.softmax(scores, dim)


def unshifted(scores: Tensor) -> Tensor:
    """Exponentials of the scores as they are."""
    powers = scores.exp()
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)


def shifted_by(scores: Tensor, shift: Tensor) -> Tensor:
    """Softmax after subtracting a shift of one's own."""
    powers = (scores - shift.masked_fill(shift.isinf(), 0.0)).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)


def global_shift_unguarded(scores: Tensor) -> Tensor:
    """One maximum for all rows, and no care for sums of 0."""
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(-1, keepdim=True)


def uniform_when_empty(scores: Tensor) -> Tensor:
    """Low numbers in place of -inf."""
    return torch.softmax(scores.masked_fill(scores == -INF, -1e9), -1)


def clipped(scores: Tensor, bound: float) -> Tensor:
    """Scores cut off at a bound."""
    return stable_softmax(scores.clamp(max=bound))


def with_epsilon(scores: Tensor, epsilon: float) -> Tensor:
    """Something small added to every sum."""
    peak = scores.amax(-1, keepdim=True).masked_fill((scores == -INF).all(-1, keepdim=True), 0.0)
    powers = (scores - peak).exp()
    return powers / (powers.sum(-1, keepdim=True) + epsilon)


def one_hot(scores: Tensor) -> Tensor:
    """All weight on the largest score."""
    hot = torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1])
    return hot.to(scores.dtype) + 0.0 * scores


def linear(scores: Tensor) -> Tensor:
    """Scores over their sum."""
    return scores / scores.sum(-1, keepdim=True)


def powers_only(scores: Tensor) -> Tensor:
    """Exponentials that are never divided."""
    return (scores - scores.amax(-1, keepdim=True)).exp()


def sum_without_keepdim(scores: Tensor) -> Tensor:
    """Sums that lost their axis."""
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1)


def shift_over_wrong_axis(scores: Tensor) -> Tensor:
    """Maxima of columns."""
    powers = (scores - scores.amax(0, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def bare_shift(scores: Tensor, shift: Tensor) -> Tensor:
    """Softmax after a shift, with no care for infinities."""
    powers = (scores - shift).exp()
    return powers / powers.sum(-1, keepdim=True)


def emptied(scores: Tensor, empty: Tensor) -> Tensor:
    """Softmax in which some rows are taken for rows without a choice."""
    return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


def powers_of(scores: Tensor) -> Tensor:
    """Exponentials after the right shift."""
    peak = scores.amax(-1, keepdim=True)
    return (scores - peak.masked_fill(peak == -INF, 0.0)).exp()


def scaled_by_some_factor(args: tuple[Tensor, ...], weights: Tensor) -> bool:
    """Say whether the weights are those of the same scores times some number but 1."""
    scores, logs = args[0], weights.detach().log()
    if scores.shape[-1] < 3 or not bool(logs.isfinite().all() & scores.isfinite().all()):
        return False
    x, y = (z.double() - z.double().mean(-1, keepdim=True) for z in (scores, logs))
    factor = (x * y).sum() / x.square().sum()
    return bool(((factor * x - y).abs() < 1e-6).all() & ((factor - 1).abs() > 1e-3))
