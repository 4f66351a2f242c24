"""Masked softmax in three steps that can be exchanged: hide scores, take shares, touch up."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function

INF = torch.inf
Step = Callable[[Tensor, Tensor], Tensor]


def hide(scores: Tensor, mask: Tensor) -> Tensor:
    """Hide what the mask forbids, as it should be done."""
    return scores.masked_fill(~mask, -INF)


def nothing(table: Tensor, mask: Tensor) -> Tensor:
    """Take no notice of the mask."""
    return table


def build(
    hide: Step = hide, turn: Callable[[Tensor], Tensor] = stable_softmax, after: Step = nothing
) -> Function:
    """Return a masked softmax with some of its steps exchanged.

    Args:
        hide: What the mask does to the scores.
        turn: What makes weights of scores.
        after: What the mask does to the weights.
    """
    return lambda scores, attn_mask: after(turn(hide(scores, attn_mask)), attn_mask)


def fill(number: float) -> Step:
    """Return a way to hide scores by a number in their place."""
    return lambda scores, mask: scores.masked_fill(~mask, number)


def add(number: float) -> Step:
    """Return a way to hide scores by a number added to them."""
    return lambda scores, mask: scores + torch.where(mask, 0.0, number).to(scores.dtype)


def lowest(scores: Tensor, mask: Tensor) -> Tensor:
    """Hide scores by the lowest number of their dtype."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def plain(scores: Tensor) -> Tensor:
    """Return torch's softmax over the last axis: NaN on an empty row."""
    return torch.softmax(scores, -1)


def no_empty(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the rows of queries that may see nothing to zero."""
    return weights * mask.any(-1, keepdim=True)


def masked(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the weights of hidden keys to zero."""
    return weights * mask


def divided(weights: Tensor, mask: Tensor) -> Tensor:
    """Set the weights of hidden keys to zero and divide by what is left, with care for 0."""
    rest = weights * mask
    total = rest.sum(-1, keepdim=True)
    return rest / torch.where(total == 0, 1.0, total)


def divided_with(epsilon: float) -> Step:
    """Return a way to do the same with something small in every denominator."""

    def divide(weights: Tensor, mask: Tensor) -> Tensor:
        rest = weights * mask
        return rest / (rest.sum(-1, keepdim=True) + epsilon)

    return divide


def by_hand(shift: Step, epsilon: float = 0.0) -> Function:
    """Return exponentials after a shift, of visible keys only, over their sum."""

    def wrong(scores: Tensor, attn_mask: Tensor) -> Tensor:
        powers = (scores - shift(scores, attn_mask)).exp().masked_fill(~attn_mask, 0.0)
        total = powers.sum(-1, keepdim=True)
        return powers / (total + epsilon if epsilon else torch.where(total == 0, 1.0, total))

    return wrong


def over_columns(turn: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Apply a softmax to columns instead of rows."""
    return lambda scores: turn(scores.mT).mT


def over_pairs(scores: Tensor) -> Tensor:
    """Share 1 out among all pairs of one table."""
    return stable_softmax(scores.flatten(-2)).view(scores.shape)


def one_hot(scores: Tensor) -> Tensor:
    """Give all weight to the largest score."""
    hot = torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1])
    return hot.to(scores.dtype) + 0.0 * scores.nan_to_num(neginf=0.0)


def first_table(mask: Tensor) -> Tensor:
    """Return the first of all masks."""
    while mask.dim() > 2:
        mask = mask[0]
    return mask


def as_batch(scores: Tensor, mask: Tensor) -> Tensor:
    """Read the first of three axes of a mask as the batch."""
    return mask.unsqueeze(1) if mask.dim() == 3 and scores.dim() == 4 else mask
