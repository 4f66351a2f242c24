"""Grouped-query attention with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention

Share = Callable[[Tensor, int], Tensor]


def right(x: Tensor, num_heads: int) -> Tensor:
    """Give every query head its own copy of the head that it reads."""
    return x.repeat_interleave(num_heads // x.shape[1], dim=1)


def build(
    keys: Share = right,
    values: Share | None = None,
    attend: Function = scaled_dot_product_attention,
    lay: Callable[[Tensor, int, int], Any] = lambda mask, heads, shared: mask,
    finish: Callable[[Tensor, int], Any] = lambda out, shared: out,
) -> Function:
    """Return grouped-query attention with some of its steps exchanged.

    Args:
        keys: The keys of every query head, from those given and the number of query heads.
        values: The same for the values, if it is another way.
        attend: Attention inside the heads.
        lay: What is made of the mask, given the numbers of query heads and of shared heads.
        finish: What is made of the output, given the number of shared heads.
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
        heads, shared = query.shape[1], key.shape[1]
        mask = None if attn_mask is None else lay(attn_mask, heads, shared)
        out = attend(query, keys(key, heads), (values or keys)(value, heads), mask)
        return finish(out, shared)

    return wrong


def inside(**steps: Any) -> Function:
    """Return grouped-query attention with some steps exchanged inside every head."""
    return build(attend=attention(**steps))


def by_index(choose: Callable[[Tensor, int, int], Tensor]) -> Share:
    """Return a sharing where query head h reads `choose(h, heads, shared)`, kept in range."""

    def share(x: Tensor, num_heads: int) -> Tensor:
        index = choose(torch.arange(num_heads), num_heads, x.shape[1])
        return x[:, index.clamp(0, x.shape[1] - 1)]

    return share
