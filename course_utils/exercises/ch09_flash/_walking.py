"""Tiled attention, forward, with exchangeable parts: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.exercises.ch09_flash._online import build as online

Ranges = list[tuple[int, int]]
STEP = online()
Hidden = Callable[[Tensor, Tensor, "Place"], Tensor]


class Place:
    """Where a tile lies: queries from q0 to q1, keys from k0 to k1, of L and S."""

    def __init__(
        self, rows: tuple[int, int], keys: tuple[int, int], sizes: tuple[int, int, int, int]
    ) -> None:
        self.q0, self.q1 = rows
        self.k0, self.k1 = keys
        self.num_queries, self.num_keys, self.block_q, self.block_k = sizes


def cut(length: int, block: int) -> Ranges:
    """Return the beginnings and ends of blocks, the last one as short as it is."""
    return [(start, min(start + block, length)) for start in range(0, length, block)]


def future(i: Tensor, j: Tensor, at: Place) -> Tensor:
    """Say which keys lie in a query's future, as it should be."""
    return j > i


def ahead(at: Place) -> bool:
    """Say whether a whole tile lies in the future, as it should be."""
    return at.k0 > at.q1 - 1


def root(query: Tensor, key: Tensor, value: Tensor, at: Place) -> float:
    """Return the right scale."""
    return float(query.shape[-1] ** -0.5)


def output(m: Tensor, l: Tensor, acc: Tensor) -> Any:
    """Return out and lse of a state, as it should be."""
    return acc / l.unsqueeze(-1), m + l.log()


def hide(scores: Tensor, hidden: Tensor) -> Tensor:
    """Hide what lies in the future, as it should be."""
    return scores.masked_fill(hidden, -torch.inf)


def build(
    scale: Callable[..., float] = root,
    rows: Callable[[int, int], Ranges] = cut,
    columns: Callable[[int, int, Any], Ranges] = lambda length, block, tensors: cut(length, block),
    skip: Callable[[Place], bool] = ahead,
    hidden: Hidden = future,
    hide: Callable[[Tensor, Tensor], Tensor] = hide,
    step: Function = STEP,
    finish: Callable[[Tensor, Tensor, Tensor], Any] = output,
    values: Callable[[Tensor, Place], Tensor] = lambda value, at: value[:, :, at.k0 : at.k1],
    keys: Callable[[Tensor, Place], Tensor] = lambda key, at: key[:, :, at.k0 : at.k1],
    causal: Callable[[bool], bool] = bool,
    last: Callable[..., Any] = lambda out, lse, query: (out, lse),
) -> Function:
    """Return tiled attention with some of its parts exchanged.

    Args:
        scale: The factor on a tile's scores.
        rows: The blocks of queries, from L and block_q.
        columns: The blocks of keys, from S, block_k and query, key and value.
        skip: Whether a causal tile is left out.
        hidden: Which of a causal tile's scores are hidden, from the places of queries and keys.
        hide: What hiding does.
        step: How a tile joins the state (m, l, acc).
        finish: Out and lse of a block of queries from its last state.
        values: A tile's values.
        keys: A tile's keys.
        causal: What becomes of the flag.
        last: What is returned for the whole out, the whole lse and the query.
    """

    def wrong(
        query: Tensor, key: Tensor, value: Tensor, block_q: int, block_k: int,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        sizes = query.shape[2], key.shape[2], block_q, block_k
        done = []
        for block in rows(sizes[0], block_q):
            q = query[:, :, block[0] : block[1]]
            m = torch.full_like(q[..., 0], -torch.inf)
            state = m, torch.zeros_like(m), torch.zeros_like(q[..., :1] * value[:, :, :1])
            for tile in columns(sizes[1], block_k, (query, key, value)):
                at = Place(block, tile, sizes)
                if causal(is_causal) and skip(at):
                    continue
                scores = q @ keys(key, at).mT * scale(query, key, value, at)
                if causal(is_causal):
                    i, j = torch.arange(*block).unsqueeze(-1), torch.arange(*tile)
                    scores = hide(scores, hidden(i, j, at))
                state = step(*state, scores, values(value, at))
            done.append(finish(*state))
        out, lse = (torch.cat(parts, 2) for parts in zip(*done, strict=True))
        return last(out, lse, query)

    return wrong
