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


def _take(weights: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return weights @ value


def pick(given: float | None, default: float) -> float:
    """Return the scale to use, as it should be done."""
    return default if given is None else given


def build(
    factor: Callable[..., float] = root,
    pick: Callable[[float | None, float], float] = pick,
    hide: Callable[[Tensor, Tensor], Tensor] = hide,
    turn: Callable[[Tensor], Tensor] = stable_softmax,
    after: Callable[[Tensor, Tensor], Tensor] = lambda weights, mask: weights,
    take: Callable[..., Tensor] = _take,
    scale_last: bool = False,
) -> Function:
    """Return attention with some of its steps exchanged.

    Args:
        factor: The default scale from query, key and value.
        pick: The scale to use, from what was given and the default.
        hide: What a mask does to the scores.
        turn: What makes weights of scores.
        after: What a mask does to the weights.
        take: The output from weights, query, key and value.
        scale_last: Scale the weights instead of the scores.
    """

    def attend(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        used = pick(scale, factor(query, key, value))
        scores = query @ key.mT * (1.0 if scale_last else used)
        if attn_mask is not None:
            scores = hide(scores, attn_mask)
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
