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


def _calls_operator(trace: Trace) -> bool:
    return bool(_OPERATORS & trace.calls)


WAY = (
    Misconception(
        "PyTorch's own attention inside",
        _torch_inside,
        "The values are right, but PyTorch's own attention made them. The point is to write it: "
        "which three steps does it hide?",
        sign=_calls_operator,
    ),
    Misconception(
        "random numbers inside",
        build(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens "
        "inside. Do the weights still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
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
        "divided by the number of keys",
        build(take=lambda w, q, k, v: w @ v / k.shape[-2]),
        "The output is an average divided once more. What do the weights of a row already sum to?",
    ),
    Misconception(
        "query and key swapped",
        build(take=lambda w, q, k, v: stable_softmax(k @ q.mT / q.shape[-1] ** 0.5).mT @ v),
        "The softmax ran over the queries, for the keys did the asking. Which of the two owns a "
        "row of the weights?",
    ),
)
