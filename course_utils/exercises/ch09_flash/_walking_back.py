"""Tiled attention, backward, with exchangeable parts: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch09_flash._walking import (
    Hidden,
    Place,
    Ranges,
    ahead,
    cut,
    future,
    root,
)

Three = tuple[Tensor, Tensor, Tensor]


def row_sums(grad: Tensor, out: Tensor) -> Tensor:
    """Return D, one number a query, as it should be."""
    return (grad * out).sum(-1, keepdim=True)


def through(weights: Tensor, grad: Tensor, delta: Tensor) -> Tensor:
    """Go back through the softmax, as it should be."""
    return weights * (grad - delta)


def weigh(scores: Tensor, lse: Tensor) -> Tensor:
    """Return a tile's weights, as they should be."""
    return (scores - lse.unsqueeze(-1)).exp()


def hide(weights: Tensor, hidden: Tensor) -> Tensor:
    """Hide what lies in the future, as it should be."""
    return weights.masked_fill(hidden, 0.0)


def add(total: Tensor, part: Tensor) -> None:
    """Add what a tile gives to what the others gave."""
    total += part


def put(total: Tensor, part: Tensor) -> None:
    """Put what a tile gives in the place of what the others gave."""
    total.copy_(part)


def build(
    scale: Callable[..., float] = root,
    scale_back: Callable[..., float] = root,
    delta: Callable[[Tensor, Tensor], Tensor] = row_sums,
    weigh: Callable[[Tensor, Tensor], Tensor] = weigh,
    through: Callable[[Tensor, Tensor, Tensor], Tensor] = through,
    for_value: Callable[[Tensor, Tensor], Tensor] = lambda weights, grad_scores: weights,
    rows: Callable[[int, int], Ranges] = cut,
    columns: Callable[[int, int], Ranges] = cut,
    skip: Callable[[Place], bool] = ahead,
    hidden: Hidden = future,
    hide: Callable[[Tensor, Tensor], Tensor] = hide,
    faint: float = -torch.inf,
    causal: Callable[[bool], bool] = bool,
    adds: tuple[Callable[[Tensor, Tensor], None], ...] = (add, add, add),
    sides: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = lambda q, k: (k, q),
    last: Callable[..., Any] = lambda dq, dk, dv, query: (dq, dk, dv),
) -> Function:
    """Return the backward pass with some of its parts exchanged.

    Args:
        scale: The factor on the scores.
        scale_back: The factor on the way back.
        delta: One number a query, from grad_out and out.
        weigh: A tile's weights, from its scores and lse.
        through: The scores' gradient, from weights, their gradient and delta.
        for_value: What grad_out is multiplied by for the values.
        rows: The blocks of queries, from L and block_q.
        columns: The blocks of keys, from S and block_k.
        skip: Whether a causal tile is left out.
        hidden: Which of a causal tile's weights are hidden.
        hide: What hiding does.
        faint: The score of what is hidden.
        causal: What becomes of the flag.
        adds: How a tile's part joins dq, dk and dv.
        sides: What the scores' gradient meets for dq and for dk.
        last: What is returned for the three, and the query.
    """

    def wrong(
        query: Tensor, key: Tensor, value: Tensor, out: Tensor, lse: Tensor, grad_out: Tensor,
        block_q: int, block_k: int, is_causal: bool = False,
    ) -> Any:  # fmt: skip
        sizes = query.shape[2], key.shape[2], block_q, block_k
        grads = [torch.zeros_like(x) for x in (query, key, value)]
        sums = delta(grad_out, out)
        for a, b in rows(sizes[0], block_q):
            q, grad = query[:, :, a:b], grad_out[:, :, a:b]
            for c, d in columns(sizes[1], block_k):
                at = Place((a, b), (c, d), sizes)
                if causal(is_causal) and skip(at):
                    continue
                k, v = key[:, :, c:d], value[:, :, c:d]
                weights = weigh(q @ k.mT * scale(query, key, value, at), lse[:, :, a:b])
                if causal(is_causal):
                    i, j = torch.arange(a, b).unsqueeze(-1), torch.arange(c, d)
                    away = hidden(i, j, at)
                    weights = hide(weights, away)
                    if faint > -torch.inf:
                        weights = weights + away * weigh(torch.tensor(faint), lse[:, :, a:b])
                ds = through(weights, grad @ v.mT, sums[:, :, a:b])
                ds = ds * scale_back(query, key, value, at)
                near_k, near_q = sides(q, k)
                adds[0](grads[0][:, :, a:b], ds @ near_k)
                adds[1](grads[1][:, :, c:d], ds.mT @ near_q)
                adds[2](grads[2][:, :, c:d], for_value(weights, ds).mT @ grad)
        return last(*grads, query)

    return wrong
