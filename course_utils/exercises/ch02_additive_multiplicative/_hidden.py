"""Additive scoring with exchangeable parts: a mistake exchanges one of them."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply as matrices, from the right."""
    return a @ b


def turned(a: Tensor, b: Tensor) -> Tensor:
    """Multiply with the transposed matrix."""
    return a @ b.mT


def add_pairs(for_query: Tensor, for_key: Tensor) -> Tensor:
    """Add every projected query to every projected key: (B, L, S, d_a)."""
    return for_query.unsqueeze(2) + for_key.unsqueeze(1)


def build(
    on_query: Any = product,
    on_key: Any = product,
    join: Any = add_pairs,
    squash: Any = torch.tanh,
    read: Any = lambda hidden, v: hidden @ v,
    split: Any = None,
) -> Function:
    """Return additive scoring with some of its parts exchanged.

    Args:
        on_query: The query's projection.
        on_key: The key's projection.
        join: The hidden layer of every pair, from both projections.
        squash: What bends the hidden layer.
        read: The score, from hidden layer and v.
        split: For concat's signature: W_q and W_k from W and the widths of query and key.
    """

    def score(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Any:
        return read(squash(join(on_query(query, W_q), on_key(key, W_k))), v)

    def score_concat(query: Tensor, key: Tensor, W: Tensor, v: Tensor) -> Any:
        W_q, W_k = split(W, query.shape[-1], key.shape[-1])
        return score(query, key, W_q, W_k, v)

    return score if split is None else score_concat


def halves(W: Tensor, d_q: int, d_k: int) -> tuple[Tensor, Tensor]:
    """Cut W as concat does: the query's rows, then the key's."""
    return W[:d_q], W[d_q:]
