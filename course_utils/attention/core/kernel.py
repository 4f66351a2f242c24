"""Attention by a kernel φ(q)·φ(k), in pieces: what linear attention and the Performer share."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_utils.attention.core.chunks import ROWS, joined, pieces

Features = Callable[[Tensor], Tensor]
LONG = 1024  # pieces may be long when nothing is causal: there is no table of weights


def kernel_attention(
    query: Tensor, key: Tensor, value: Tensor, of_query: Features, of_key: Features
) -> Tensor:
    """Return the average of all values under the weights φ(q)·φ(k): sum the keys, then read."""
    if key.shape[-2] == 0:
        return no_keys(query, key, value)
    states, totals = [], []
    for k, v in pieces(LONG, key, value):
        k = of_key(widened(k))
        states.append(k.mT @ widened(v))
        totals.append(k.sum(-2).unsqueeze(-1))
    state, total = torch.stack(states).sum(0), torch.stack(totals).sum(0)

    def read() -> Iterator[Tensor]:
        for (piece,) in pieces(LONG, query):
            q = of_query(widened(piece))
            yield (q @ state / (q @ total)).to(query.dtype)

    return joined(read(), query.shape[-2], query, key, value)


def causal_kernel_attention(
    query: Tensor, key: Tensor, value: Tensor, of_query: Features, of_key: Features
) -> Tensor:
    """Return the same over each query and its past, with a small causal table and a state."""

    def read() -> Iterator[Tensor]:
        past: tuple[Tensor, Tensor] | None = None
        for q, k, v in pieces(ROWS, query, key, value):
            q, k, v = of_query(widened(q)), of_key(widened(k)), widened(v)
            weights = (q @ k.mT).tril()
            top, bottom = weights @ v, weights.sum(-1, keepdim=True)
            state, total = k.mT @ v, k.sum(-2).unsqueeze(-1)
            if past is not None:
                top, bottom = top + q @ past[0], bottom + q @ past[1]
                state, total = past[0] + state, past[1] + total
            past = state, total
            yield (top / bottom).to(query.dtype)

    return joined(read(), query.shape[-2], query, key, value)


def no_keys(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return the average where there is no key: zeros."""
    return query @ key.mT @ value


def widened(x: Tensor) -> Tensor:
    """Return the tensor in float32 at least: a sum over a whole sequence needs the digits."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
