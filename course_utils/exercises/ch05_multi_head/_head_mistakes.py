"""What goes wrong when heads attend and come together inside multi-head attention."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import merge_heads
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention
from course_utils.exercises.ch05_multi_head._multi_head import build


def _over_heads(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Let the heads of a position attend to one another, as without the transpose."""
    parts = (part.transpose(1, 2) for part in (query, key, value))
    out: Tensor = attention()(*parts)
    return out.transpose(1, 2)


def _shared_weights(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Average the weights over the heads before they meet the values."""
    weigh = attention(take=lambda weights, q, k, v: weights.mean(1, keepdim=True) @ v)
    out: Tensor = weigh(query, key, value, mask)
    return out


def _summed(heads: Tensor) -> Tensor:
    return heads.sum(1).repeat(1, 1, heads.shape[1])


def _averaged(heads: Tensor) -> Tensor:
    return heads.mean(1).repeat(1, 1, heads.shape[1])


def _thin(merged: Tensor, weight: Tensor) -> Tensor:
    return merged @ weight[: merged.shape[-1]]


def _silent(index: int) -> Any:
    """Leave one head out of the merge."""

    def merge(heads: Tensor) -> Tensor:
        loud = torch.arange(heads.shape[1]) != index % heads.shape[1]
        return merge_heads(heads * loud[:, None, None])

    return merge


def _alone(index: int) -> Any:
    """Let one head only reach W_o, in its own rows."""

    def merge(heads: Tensor) -> Tensor:
        loud = torch.arange(heads.shape[1]) == index % heads.shape[1]
        return merge_heads(heads * loud[:, None, None])

    return merge


def _each(heads: Tensor, weight: Tensor) -> Tensor:
    return torch.einsum("bhli,hij->bhlj", heads, weight.view(heads.shape[1], -1, len(weight)))


HEADS = (
    Misconception(
        "heads summed instead of concatenated",
        build(merge=lambda heads: heads.sum(1), mix=_thin),
        "The heads were added up, so all of them meet the same rows of W_o. Each head has rows of "
        "its own: how do the heads stand beside each other?",
        also=(
            build(merge=_summed),
            build(merge=lambda heads: heads.sum(1), mix=lambda merged, weight: merged),
        ),
    ),
    Misconception(
        "heads averaged",
        build(merge=lambda heads: heads.mean(1), mix=_thin),
        "The heads were averaged. W_o learns how much each head counts: how do the heads stand "
        "beside each other when they meet it?",
        also=(
            build(merge=_averaged),
            build(merge=lambda heads: heads.mean(1), mix=lambda merged, weight: merged),
            build(merge=lambda heads: merge_heads(heads) / heads.shape[1]),
            build(merge=lambda heads: merge_heads(heads) / heads.shape[1] ** 0.5),
        ),
    ),
    Misconception(
        "one weight table for all heads",
        build(attend=_shared_weights),
        "All heads use the same weights. Each head has weights of its own: that is why there are "
        "several.",
        also=(
            build(attend=attention(turn=lambda s: s.softmax(-1)[:, :1])),
            build(attend=attention(turn=lambda s: s.mean(1, keepdim=True).softmax(-1))),
            build(attend=attention(turn=lambda s: s.sum(1, keepdim=True).softmax(-1))),
        ),
    ),
    Misconception(
        "heads attending to heads",
        build(attend=_over_heads),
        "Within a position, the heads attend to one another: the table has the axes (H, H). Which "
        "two axes must be the last when the heads are compared?",
    ),
    Misconception(
        "a head lost",
        build(merge=_silent(-1)),
        "Not every head has a part in the output. Does the loop, or the slice, reach them all, and "
        "does each add to what was there before?",
        also=(
            build(merge=_silent(0)),
            build(merge=lambda heads: merge_heads(heads[:, :1].expand_as(heads))),
            build(merge=lambda heads: merge_heads(heads[:, -1:].expand_as(heads))),
            build(merge=lambda heads: heads[:, 0], mix=_thin),
            build(merge=lambda heads: heads[:, -1], mix=_thin),
            build(merge=_alone(0)),
            build(merge=_alone(-1)),
            build(merge=lambda heads: torch.cat(heads.unbind(1)[:-1], -1), mix=_thin),
        ),
    ),
    Misconception(
        "heads in the wrong order",
        build(merge=lambda heads: merge_heads(heads.flip(1))),
        "The heads meet W_o in another order than they were cut. Which rows of W_o belong to head "
        "0?",
        also=(
            build(merge=lambda heads: merge_heads(heads.roll(1, 1))),
            build(merge=lambda heads: merge_heads(heads.roll(-1, 1))),
            build(merge=lambda heads: merge_heads(heads.flip(-1))),
        ),
    ),
    Misconception(
        "not merged",
        build(merge=lambda heads: heads, mix=lambda heads, weight: _each(heads, weight)),
        "What each head adds to the output is there, but not added up: the output still has an "
        "axis for the heads.",
        also=(
            build(merge=lambda heads: heads, mix=lambda heads, weight: heads),
            build(
                merge=lambda heads: heads,
                mix=lambda heads, weight: merge_heads(_each(heads, weight)),
            ),
        ),
    ),
)
