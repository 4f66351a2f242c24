"""Splits into heads with exchangeable steps: a mistake exchanges one of them."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def cut(x: Tensor, num_heads: int) -> Tensor:
    """Cut the width into heads: (B, L, H, d_k)."""
    return x.reshape(x.shape[0], x.shape[1], num_heads, x.shape[2] // num_heads)


def cut_otherwise(x: Tensor, num_heads: int) -> Tensor:
    """Cut the width the other way round: (B, L, d_k, H)."""
    return x.reshape(x.shape[0], x.shape[1], x.shape[2] // num_heads, num_heads)


def shape(x: Tensor, num_heads: int) -> tuple[int, int, int, int]:
    """Return the shape that is asked for."""
    return x.shape[0], num_heads, x.shape[1], x.shape[2] // num_heads


def build(cut: Any = cut, turn: Any = lambda heads: heads.transpose(1, 2)) -> Function:
    """Return a split with another cut of the stream or another order of the axes."""
    return lambda x, num_heads: turn(cut(x, num_heads))


def permuted(*order: int, cut: Any = cut) -> Function:
    """Return a split that puts the axes (B, L, H, d_k) in this order."""
    return build(cut, lambda heads: heads.permute(*order))


def slices(take: Any) -> Function:
    """Return a split that makes head h of some features, `take(h, num_heads, d_model)`."""

    def wrong(x: Tensor, num_heads: int) -> Tensor:
        d_model = x.shape[-1]
        return torch.stack([x[..., take(h, num_heads, d_model)] for h in range(num_heads)], 1)

    return wrong


def always(count: int) -> Function:
    """Return a split into so many heads, wherever they divide the width."""
    return lambda x, num_heads: build()(x, num_heads if x.shape[-1] % count else count)


def d_k_always(width: int) -> Function:
    """Return a split into heads of this width, wherever it divides the stream's."""
    return lambda x, num_heads: build()(
        x, num_heads if x.shape[-1] % width else x.shape[-1] // width
    )
