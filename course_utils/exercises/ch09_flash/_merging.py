"""The merge of two partial results with exchangeable parts: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def safe(top: Tensor) -> Tensor:
    """Put 0 where no part saw a key, so that no infinity is subtracted from another."""
    return top.masked_fill(top == -torch.inf, 0.0)


def shares(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both sums of exponentials against the larger maximum, as it should be."""
    top = safe(torch.maximum(lse_a, lse_b))
    return (lse_a - top).exp(), (lse_b - top).exp()


def joined(lse_a: Tensor, lse_b: Tensor) -> Tensor:
    """Return the logsumexp of both."""
    return torch.logaddexp(lse_a, lse_b)


def ignored(out: Tensor, lse: Tensor) -> Tensor:
    """Put zeros where a part saw no key, as it should be."""
    return out.masked_fill((lse == -torch.inf).unsqueeze(-1), 0.0)


def nonzero(total: Tensor) -> Tensor:
    """Keep a sum from being divided by where it is 0."""
    return total.masked_fill(total == 0.0, 1.0)


def build(
    share: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = shares,
    lse: Callable[[Tensor, Tensor], Tensor] = joined,
    clean: Callable[[Tensor, Tensor], Tensor] = ignored,
    total: Callable[[Tensor, Tensor], Tensor] = lambda a, b: a + b,
    divide: Callable[[Tensor, Tensor], Tensor] = lambda out, total: out / nonzero(total),
    finish: Callable[..., Any] = lambda out, lse, *given: (out, lse),
) -> Function:
    """Return the merge with some of its parts exchanged.

    Args:
        share: The weights of both parts, not normalised, from their logsumexps.
        lse: The new logsumexp from the two.
        clean: What is done to a part's output first, given its logsumexp.
        total: What the weighted sum is divided by, from the two weights.
        divide: How.
        finish: What is returned for out and lse, and the four arguments.
    """

    def wrong(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
        a, b = (x.unsqueeze(-1) for x in share(lse_a, lse_b))
        summed = a * clean(out_a, lse_a) + b * clean(out_b, lse_b)
        out = divide(summed, total(a, b))
        return finish(out, lse(lse_a, lse_b), out_a, lse_a, out_b, lse_b)

    return wrong
