"""Causal linear attention whose values are right, and which holds too much at once."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch08_cheaper._linear import Linear, phi


def _cumsum(query: Tensor, key: Tensor, value: Tensor) -> Any:
    q, k = phi(query), phi(key)
    states = (k.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(-3)
    total = (q * k.cumsum(-2)).sum(-1, keepdim=True)
    return (q.unsqueeze(-2) @ states).squeeze(-2) / total


def _cumsum_by_einsum(query: Tensor, key: Tensor, value: Tensor) -> Any:
    q, k = phi(query), phi(key)
    states = torch.einsum("...sd,...sv->...sdv", k, value).cumsum(-3)
    total = torch.einsum("...ld,...ld->...l", q, k.cumsum(-2))
    return torch.einsum("...ld,...ldv->...lv", q, states) / total.unsqueeze(-1)


def _stacked(query: Tensor, key: Tensor, value: Tensor) -> Any:
    q, k = phi(query), phi(key)
    states: list[Tensor] = []
    for s in range(key.shape[-2]):
        new = k[..., s, :].unsqueeze(-1) * value[..., s, :].unsqueeze(-2)
        states.append(states[-1] + new if states else new)
    total = (q * k.cumsum(-2)).sum(-1, keepdim=True)
    return (q.unsqueeze(-2) @ torch.stack(states, -3)).squeeze(-2) / total


def _long_runs(run: int) -> Function:
    """Walk in runs that are too long."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Any:
        state, total, rows = torch.zeros(()), torch.zeros(()), []
        parts = (x.split(run, dim=-2) for x in (phi(query), phi(key), value))
        for number, (q, k, v) in enumerate(zip(*parts, strict=True)):
            weights = (q @ k.mT).tril()
            top, bottom = weights @ v, weights.sum(-1, keepdim=True)
            own, sums = k.mT @ v, k.sum(-2).unsqueeze(-1)
            if number:
                top, bottom = top + q @ state, bottom + q @ total
                own, sums = own + state, sums + total
            state, total = own, sums
            rows.append(top / bottom)
        return torch.cat(rows, dim=-2)

    return wrong


def _share_of_length(parts: int) -> Function:
    """Walk in runs whose length is a share of the sequence's."""
    return lambda query, key, value: _long_runs(-(-query.shape[-2] // parts))(query, key, value)


ALL_WEIGHTS = Misconception(
    "a table of too many weights",
    Linear(torch.tril).build(),
    "The values are right, but a table of more than 64 × 64 weights is held for a batch and head: "
    "all queries against all keys, or too long a run of them. What can carry over from one run of "
    "queries to the next, so that short runs are enough?",
    also=(_long_runs(96), _long_runs(128), *(_share_of_length(parts) for parts in (2, 4, 8))),
)
EVERY_STATE = Misconception(
    "every state kept",
    _cumsum,
    "The values are right, but the running sums of all positions are held at once: a state of "
    "d_k × d_v numbers for each of them, as `cumsum` gives them. How many of them does the next "
    "query need?",
    also=(_cumsum_by_einsum, _stacked),
)
