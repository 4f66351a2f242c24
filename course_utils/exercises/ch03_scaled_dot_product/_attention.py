"""Attention with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function


def hide(scores: Tensor, mask: Tensor) -> Tensor:
    """Hide what the mask forbids, as it should be done."""
    return scores.masked_fill(~mask, -torch.inf)


def root(query: Tensor, key: Tensor, value: Tensor) -> float:
    """Return the right scale."""
    return 1 / math.sqrt(query.shape[-1])


def _score(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return query @ key.mT


def _take(weights: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return weights @ value


def pick(given: float | None, default: float) -> float:
    """Return the scale to use, as it should be done."""
    return default if given is None else given


def build(
    score: Callable[[Tensor, Tensor, Tensor], Tensor] = _score,
    factor: Callable[..., float] = root,
    pick: Callable[[float | None, float], float] = pick,
    hide: Callable[[Tensor, Tensor], Tensor] = hide,
    turn: Callable[[Tensor], Tensor] = stable_softmax,
    after: Callable[[Tensor, Tensor], Tensor] = lambda weights, mask: weights,
    take: Callable[..., Tensor] = _take,
    scale_last: bool = False,
    scale_late: bool = False,
) -> Function:
    """Return attention with some of its steps exchanged.

    Args:
        score: The unscaled scores from query, key and value.
        factor: The default scale from query, key and value.
        pick: The scale to use, from what was given and the default.
        hide: What a mask does to the scores.
        turn: What makes weights of scores.
        after: What a mask does to the weights.
        take: The output from weights, query, key and value.
        scale_last: Scale the weights instead of the scores.
        scale_late: Scale the scores only after the mask.
    """

    def attend(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        used = pick(scale, factor(query, key, value))
        scores = score(query, key, value) * (1.0 if scale_last or scale_late else used)
        if attn_mask is not None:
            scores = hide(scores, attn_mask)
        if scale_late:
            scores = (scores * used).nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        weights = turn(scores) * (used if scale_last else 1.0)
        if attn_mask is not None:
            weights = after(weights, attn_mask)
        return take(weights, query, key, value)

    return attend


def build_weights(**steps: Any) -> Function:
    """Return the weights of attention with some of its steps exchanged: (query, key, scale)."""
    attend = build(**steps, take=lambda weights, query, key, value: weights)

    def weigh(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
        weights: Tensor = attend(query, key, key, None, scale)
        return weights

    return weigh


def no_empty(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the rows of queries that may see nothing to zero."""
    return weights * mask.any(-1, keepdim=True)


def renormalised(weights: Tensor, mask: Tensor, epsilon: float | None = None) -> Tensor:
    """Hide weights and divide the rest by its sum, with an epsilon or with care for sums of 0."""
    rest = weights * mask
    total = rest.sum(-1, keepdim=True)
    return rest / (torch.where(total == 0, 1.0, total) if epsilon is None else total + epsilon)


def torch_softmax(scores: Tensor) -> Tensor:
    """Return torch's softmax over the last axis: NaN on an empty row."""
    return torch.softmax(scores, -1)


def one_hot(scores: Tensor) -> Tensor:
    """Give all weight to the largest score."""
    hot = torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1])
    return hot.to(scores.dtype) + 0.0 * scores


def over_columns(turn: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Apply a softmax to columns instead of rows."""
    return lambda scores: turn(scores.mT).mT


def over_pairs(scores: Tensor) -> Tensor:
    """Share 1 out among all pairs of one table."""
    return stable_softmax(scores.flatten(-2)).view(scores.shape)


def scale_that_explains(result: Function, got: Tensor) -> bool:
    """Say whether some scale turns `result(scale)` into what was got: searched, then refined."""
    grid = torch.cat([-torch.logspace(-3, 1, 60), torch.zeros(1), torch.logspace(-3, 1, 60)])
    for _ in range(6):
        errors = [float((result(float(scale)) - got).abs().max()) for scale in grid]
        if not errors or min(errors) != min(errors):
            return False
        best = min(range(len(errors)), key=errors.__getitem__)
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        grid = torch.linspace(float(low), float(high), 41, dtype=torch.float64)
    return min(errors) < 1e-6 * float(got.abs().max() + 1)
