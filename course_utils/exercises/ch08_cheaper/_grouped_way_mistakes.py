"""What goes wrong inside the heads of grouped-query attention, and right values the dear way."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._empty_row_mistakes import EMPTY_ROWS
from course_utils.exercises.ch03_scaled_dot_product._mask_mistakes import MASK
from course_utils.exercises.ch03_scaled_dot_product._value_mistakes import VALUES
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes
from course_utils.exercises.ch08_cheaper._grouped import build, inside, right
from course_utils.exercises.ch08_cheaper._grouped_mistakes import SHARING
from course_utils.exercises.ch08_cheaper._grouped_row_mistakes import ROWS
from course_utils.exercises.ch08_cheaper._lifted import lifted


def _by_group_width(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
) -> Any:
    """Scale as if the heads of a group were one wide head."""
    width = query.shape[-1] * query.shape[1] // key.shape[1]
    return inside(factor=lambda *_: 1 / math.sqrt(width))(query, key, value, attn_mask)


SCALE = (
    Misconception(
        "no scale",
        inside(factor=lambda q, k, v: 1.0),
        "The weights are those of unscaled scores: too sharp. By what does q·k grow with d_k?",
    ),
    Misconception(
        "divided by d_k",
        inside(factor=lambda q, k, v: 1 / q.shape[-1]),
        "The scores are divided by d_k, so the weights are too even. Whose root is it?",
    ),
    Misconception(
        "multiplied by the root of d_k",
        inside(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
        "The scale makes the scores larger, not smaller. Which way should it push them?",
    ),
    Misconception(
        "the root of the wrong size",
        inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1])),
        "The scale is a root, but not of the width of one head. Over how many products does one "
        "score sum?",
        also=(
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(k.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1] * q.shape[-1])),
            inside(factor=lambda q, k, v: q.shape[-1] ** -0.25),
            _by_group_width,
        ),
    ),
    Misconception(
        "scale after softmax",
        inside(scale_last=True),
        "The weights of a row sum to the scale, not to 1: it was applied to the weights "
        "themselves. Which numbers is it meant to keep small?",
    ),
)

SOFTMAX = (
    Misconception(
        "softmax over the heads",
        inside(turn=lambda scores: torch.softmax(scores, 1)),
        "For one pair of query and key, the heads share 1 out among themselves. Each head has 1 to "
        "give, and gives it to keys: which axis, counted from the end?",
        also=(inside(turn=lambda scores: torch.softmax(scores, 0)),),
    ),
    *(
        mistake
        for mistake in softmax_mistakes(inside)
        if mistake.name != "softmax over an axis counted from the front"
    ),
)

GQA_FLAG = Misconception(
    "torch's `enable_gqa` inside",
    lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True),
    "The values are right, but `enable_gqa` did what the exercise is about: it decides which head "
    "reads which, and may copy keys and values to do so. How can a group's queries meet their "
    "keys without it?",
)


def _broadcast(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
    """Let a broadcast do the repeating: matmul copies what it broadcasts."""
    shared = key.shape[1]
    rows = query.unflatten(1, (shared, -1))
    scores = (rows @ key.unsqueeze(2).mT).flatten(1, 2) / math.sqrt(query.shape[-1])
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
        empty = ~attn_mask.any(-1, keepdim=True)
        weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    else:
        weights = scores.softmax(-1)
    return (weights.unflatten(1, (shared, -1)) @ value.unsqueeze(2)).flatten(1, 2)


def _expanded(x: Tensor, num_heads: int) -> Tensor:
    batch, shared, length, width = x.shape
    wide = x[:, :, None].expand(-1, -1, num_heads // shared, -1, -1)
    return wide.reshape(batch, num_heads, length, width)


def _stacked(x: Tensor, num_heads: int) -> Tensor:
    group = num_heads // x.shape[1]
    return torch.stack([x[:, head // group] for head in range(num_heads)], dim=1)


REPEATED = Misconception(
    "keys and values repeated",
    build(right),
    "The values are right, but keys or values were copied for every query head, by "
    "`repeat_interleave`, by indexing, or by a product that broadcasts: the memory that sharing "
    "saves is spent again. Which tensor is small enough to be rearranged instead?",
    also=(
        build(_expanded),
        build(_stacked),
        build(lambda x, heads: x[:, torch.arange(heads) // (heads // x.shape[1])]),
        _broadcast,
    ),
)

MISCONCEPTIONS = (
    *SHARING,
    *ROWS,
    *SCALE,
    *SOFTMAX,
    *lifted((*VALUES, *MASK, *EMPTY_ROWS), lambda fn: build(attend=fn), ("mask before the scale",)),
    GQA_FLAG,
    REPEATED,
)
