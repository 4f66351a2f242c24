"""One step of the online softmax with exchangeable parts: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function

State = tuple[Tensor, Tensor, Tensor]


def finite(peak: Tensor) -> Tensor:
    """Put 0 where no key was seen, so that no infinity is subtracted from another."""
    return peak.masked_fill(peak == -torch.inf, 0.0)


def top(scores: Tensor) -> Tensor:
    """Return the tile's own maximum, one a row."""
    return scores.amax(-1)


def fading(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    """Return the factor on what was summed before, as it should be."""
    return (old - finite(new)).exp()


def kept(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    """Leave what was summed before as it is."""
    return torch.ones_like(old)


def powers(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    """Return the tile's unnormalised weights, as they should be."""
    return (scores - finite(new).unsqueeze(-1)).exp()


def build(
    highest: Callable[[Tensor, Tensor], Tensor] = lambda m, scores: torch.maximum(m, top(scores)),
    fade_l: Callable[[Tensor, Tensor, Tensor], Tensor] = fading,
    fade_acc: Callable[[Tensor, Tensor, Tensor], Tensor] = fading,
    weigh: Callable[[Tensor, Tensor, Tensor], Tensor] = powers,
    total: Callable[[Tensor], Tensor] = lambda p: p.sum(-1),
    take: Callable[[Tensor, Tensor], Tensor] = lambda p, value: p @ value,
    finish: Callable[[Tensor, Tensor, Tensor], Any] = lambda m, l, acc: (m, l, acc),
    prepare: Callable[[Tensor, Tensor], Tensor] = lambda scores, value: scores,
) -> Function:
    """Return the step with some of its parts exchanged.

    Args:
        highest: The new maximum from the old one and the scores.
        fade_l: The factor on the old l, from the old maximum, the new one and the scores.
        fade_acc: The factor on the old acc, from the same.
        weigh: The tile's unnormalised weights, from the same.
        total: What the weights add to l.
        take: What weights and values add to acc.
        finish: What is returned for the new state.
        prepare: What is done to the scores first.
    """

    def wrong(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
        scores = prepare(scores, value)
        new = highest(m, scores)
        p = weigh(m, new, scores)
        new_l = l * fade_l(m, new, scores) + total(p)
        new_acc = acc * fade_acc(m, new, scores).unsqueeze(-1) + take(p, value)
        return finish(new, new_l, new_acc)

    return wrong
