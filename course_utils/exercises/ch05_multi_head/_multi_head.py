"""Multi-head attention with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.attention import merge_heads, split_heads
from course_utils.checking.exercise import Function
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention

Split = Callable[[Tensor, int], Tensor]
Shape = tuple[int, int, int, int]

RIGHT_SPLITS: tuple[Split, Split, Split] = (split_heads, split_heads, split_heads)


def build(
    roles: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]] = lambda q, k, v: (q, k, v),
    matrices: Callable[..., tuple[Tensor, ...]] = lambda *weights: weights,
    project: Callable[[Tensor, Tensor], Tensor] = lambda x, weight: x @ weight,
    count: Callable[[int, Tensor], int] = lambda num_heads, weight: num_heads,
    splits: tuple[Split, Split, Split] = RIGHT_SPLITS,
    lay: Callable[[Tensor, Shape], Tensor] = lambda mask, shape: mask,
    attend: Function | None = None,
    merge: Callable[[Tensor], Tensor] = merge_heads,
    mix: Callable[[Tensor, Tensor], Tensor] = lambda merged, weight: merged @ weight,
    finish: Callable[..., Tensor] = lambda out, query, mask: out,
) -> Function:
    """Return multi-head attention with some of its steps exchanged.

    Args:
        roles: What asks, what is asked and what hands over, from query, key and value.
        matrices: The four matrices that are used, from the four that are given.
        project: A stream times its matrix.
        count: How many heads there are, from what was given and a matrix.
        splits: How queries, keys and values are split into heads.
        lay: What is made of the mask, given the shape (B, H, L, S).
        attend: Attention inside the heads.
        merge: How the heads come side by side.
        mix: What W_o does.
        finish: What is made of the output, given the query and the mask as it was.
    """
    attended = attend or attention()

    def wrong(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        W_q: Tensor,
        W_k: Tensor,
        W_v: Tensor,
        W_o: Tensor,
        num_heads: int,
        attn_mask: Tensor | None = None,
    ) -> Any:
        heads = count(num_heads, W_q)
        *weights, last = matrices(W_q, W_k, W_v, W_o)
        streams = map(project, roles(query, key, value), weights)
        parts = [split(x, heads) for split, x in zip(splits, streams, strict=True)]
        shape = (len(query), heads, query.shape[1], key.shape[1])
        mask = None if attn_mask is None else lay(attn_mask, shape)
        return finish(mix(merge(attended(*parts, mask)), last), query, attn_mask)

    return wrong


def inside(**steps: Any) -> Function:
    """Return multi-head attention with some steps exchanged inside every head."""
    return build(attend=attention(**steps))
