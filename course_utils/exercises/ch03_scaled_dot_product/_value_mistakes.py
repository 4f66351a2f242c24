"""What goes wrong with the values of attention, and by taking another way."""

import math

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception, Trace
from course_utils.exercises.ch03_scaled_dot_product._attention import build

_OPERATORS = {
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
    "_native_multi_head_attention",
    "flex_attention",
}


def _torch_inside(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(query, key, value, attn_mask=attn_mask, scale=scale)


def _linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    query, key = (torch.nn.functional.elu(x) + 1 for x in (query, key))
    return query @ (key.mT @ value) / (query @ key.sum(-2).unsqueeze(-1))


def _cosine(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize
    return unit(query, dim=-1) @ unit(key, dim=-1).mT


def _calls_operator(trace: Trace) -> bool:
    hidden = any("scaled_dot_product" in name for name in trace.calls)
    return hidden or bool(_OPERATORS & trace.calls)


WAY = (
    Misconception(
        "PyTorch's own attention inside",
        _torch_inside,
        "PyTorch's own attention did the work. The point is to write it: "
        "which three steps does it hide?",
        sign=_calls_operator,
    ),
    Misconception(
        "random numbers inside",
        build(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens "
        "inside. Do the weights still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
        forbidden=False,
    ),
)

VALUES = (
    Misconception(
        "the root of the width of the values",
        build(factor=lambda q, k, v: 1 / math.sqrt(v.shape[-1])),
        "The scale comes from the width of the values. Which two vectors make a score, and how "
        "wide are they?",
        also=(build(factor=lambda q, k, v: 1 / v.shape[-1]),),
    ),
    Misconception(
        "the values not used",
        build(take=lambda w, q, k, v: w),
        "These are the weights. What do they weigh?",
    ),
    Misconception(
        "keys averaged instead of values",
        build(take=lambda w, q, k, v: w @ k),
        "The weights average the keys. A key says where to look; what says what is found there?",
    ),
    Misconception(
        "the weights not used",
        build(take=lambda w, q, k, v: v.mean(-2, keepdim=True).expand(*w.shape[:-1], v.shape[-1])),
        "Every query gets the same plain mean of the values. Where do the weights come in?",
        also=(build(take=lambda w, q, k, v: v.sum(-2, keepdim=True).expand(*w.shape[:-1], -1)),),
    ),
    Misconception(
        "weights transposed",
        build(take=lambda w, q, k, v: w.mT @ v),
        "The values are added up along the wrong axis of the weights: each column was taken for a "
        "query. Which axis of the weights meets the keys of the values?",
    ),
    Misconception(
        "something added to the average",
        build(take=lambda w, q, k, v: w @ v + q),
        "The output is more than an average of the values: another input was added to it. A "
        "residual connection stands around attention, not inside.",
        also=(
            build(take=lambda w, q, k, v: w @ v + v),
            build(take=lambda w, q, k, v: w @ v + k),
        ),
    ),
    Misconception(
        "divided by the number of keys",
        build(take=lambda w, q, k, v: w @ v / k.shape[-2]),
        "The output is an average divided once more. What do the weights of a row already sum to?",
    ),
    Misconception(
        "query and key swapped",
        build(score=lambda q, k, v: k @ q.mT),
        "The keys did the asking: scores and weights have a row for each key. Which of the two "
        "owns a row?",
        also=(build(take=lambda w, q, k, v: stable_softmax(k @ q.mT / q.shape[-1] ** 0.5).mT @ v),),
    ),
    Misconception(
        "the wrong two compared",
        build(score=lambda q, k, v: q @ q.mT),
        "The scores do not come from queries and keys: one of the three was used twice or in "
        "another's place. Which two are compared with each other?",
        also=(
            build(score=lambda q, k, v: k @ k.mT),
            build(score=lambda q, k, v: q @ v.mT),
            build(score=lambda q, k, v: v @ k.mT),
            build(score=lambda q, k, v: v @ v.mT),
            lambda q, k, v, attn_mask=None, scale=None: build()(q, v, k, attn_mask, scale),
            lambda q, k, v, attn_mask=None, scale=None: build()(v, k, q, attn_mask, scale),
        ),
    ),
    Misconception(
        "another kind of attention",
        _linear_attention,
        "No table of weights stands between queries and values: the product of keys and values "
        "was taken first. Where is the softmax over the keys?",
        also=(
            lambda q, k, v, attn_mask=None, scale=None: torch.softmax(q, -1) @ (k.mT @ v),
            lambda q, k, v, attn_mask=None, scale=None: q @ (k.mT @ v),
            lambda q, k, v, attn_mask=None, scale=None: (
                torch.softmax(q, -1) @ (torch.softmax(k, -2).mT @ v)
            ),
        ),
    ),
    Misconception(
        "cosine similarity",
        build(score=_cosine),
        "The lengths of query and key play no part: these are cosines. Does a dot product divide "
        "by the lengths?",
        also=(build(score=_cosine, factor=lambda q, k, v: 1.0),),
    ),
)
