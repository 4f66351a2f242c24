"""Attention over real keys with exchangeable steps: a mistake exchanges one of them."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function

INF = torch.inf


def hide(scores: Tensor, mask: Tensor) -> Tensor:
    """Hide the padding, as it should be done."""
    return scores.masked_fill(~mask.unsqueeze(1), -INF)


def fill(number: float) -> Any:
    """Return a way to hide the padding by another number than -inf."""
    return lambda scores, mask: scores.masked_fill(~mask.unsqueeze(1), number)


def build(
    hide: Any = hide,
    turn: Any = stable_softmax,
    after: Any = lambda weights, mask: weights,
    average: Any = lambda weights, value: weights @ value,
    prepare: Any = lambda value, mask: value,
    finish: Any = lambda context, weights: (context, weights),
) -> Function:
    """Return attention with some of its steps exchanged.

    Args:
        hide: What the mask does to the scores.
        turn: What makes weights of scores.
        after: What the mask does to the weights.
        average: The context, from weights and values.
        prepare: What the mask does to the values.
        finish: What is returned of both.
    """

    def wrong(scores: Tensor, value: Tensor, key_mask: Tensor) -> Any:
        weights = after(turn(hide(scores, key_mask)), key_mask)
        return finish(average(weights, prepare(value, key_mask)), weights)

    return wrong


def torch_softmax(scores: Tensor) -> Tensor:
    """Return torch's softmax over the last axis: NaN on an empty row."""
    return torch.softmax(scores, -1)


def masked(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the weights of padding to 0."""
    return weights * mask.unsqueeze(1)


def divided(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the weights of padding to 0 and divide by what is left."""
    kept = masked(weights, mask)
    return kept / kept.sum(-1, keepdim=True)


def divided_safely(weights: Tensor, mask: Tensor) -> Tensor:
    """Do the same, and let nothing be divided by 0."""
    kept = masked(weights, mask)
    return kept / kept.sum(-1, keepdim=True).clamp(min=1e-12)


def divided_with(epsilon: float) -> Any:
    """Return a way to do the same with something small in every denominator."""

    def divide(weights: Tensor, mask: Tensor) -> Tensor:
        kept = masked(weights, mask)
        return kept / (kept.sum(-1, keepdim=True) + epsilon)

    return divide


def one_hot(scores: Tensor) -> Tensor:
    """Give all weight to the largest score."""
    hot = torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1])
    return hot.to(scores.dtype) + 0.0 * scores.nan_to_num(neginf=0.0)


def by_length(mask: Tensor) -> Tensor:
    """Read the mask as a length: so many keys from the left."""
    return torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)


def two_tables(scores: Tensor, value: Tensor, key_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Average with the weights before the mask, and return those after it."""
    context, _ = build(hide=lambda s, m: s)(scores, value, key_mask)
    _, weights = build()(scores, value, key_mask)
    return context, weights


def nothing(table: Tensor, mask: Tensor) -> Tensor:
    """Take no notice of the mask."""
    return table


def real_rows(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the weights of a sequence without real keys to 0."""
    return weights * mask.any(-1)[:, None, None]
