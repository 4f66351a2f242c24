"""Attention with RoPE with exchangeable steps: a mistake exchanges one of them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.positions import rope_interleaved


def turned(q: Tensor, k: Tensor, v: Tensor, at: Tensor, of: Tensor, base: float) -> Any:
    """Turn queries and keys, as it should be done."""
    return rope_interleaved(q, at, base), rope_interleaved(k, of, base), v


def _score(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / math.sqrt(q.shape[-1])


def build(
    turn: Callable[..., Any] = turned,
    score: Callable[[Tensor, Tensor], Tensor] = _score,
    weigh: Callable[[Tensor], Tensor] = lambda scores: torch.softmax(scores, -1),
    after: Callable[..., Tensor] = lambda out, at, base: out,
) -> Function:
    """Return attention with RoPE with some of its steps exchanged."""

    def attend(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        base: float = 10000.0,
    ) -> Tensor:
        q, k, v = turn(query, key, value, query_positions, key_positions, base)
        return after(weigh(score(q, k)) @ v, query_positions, base)

    return attend


def turned_by(rope: Function) -> Function:
    """Turn queries and keys by another rotation."""
    return build(lambda q, k, v, at, of, b: (rope(q, at, b), rope(k, of, b), v))


def of(name: str, says: str, *versions: Function) -> Misconception:
    """Return a mistake with its versions."""
    return Misconception(name, versions[0], says, also=versions[1:])
