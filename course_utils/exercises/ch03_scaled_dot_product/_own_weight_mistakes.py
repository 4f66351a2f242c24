"""What goes wrong in the exercise on weights alone: which two are compared, and how."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attention_weights, stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import build_weights, root


def _key_turned(turn: Any) -> Function:
    """Return a version that makes (d_k, S) of the key by `turn`."""

    def wrong(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
        used = root(query, key, key) if scale is None else scale
        return stable_softmax(query @ turn(key) * used)

    return wrong


def _torch_inside(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    same = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)
    return torch.nn.functional.scaled_dot_product_attention(query, key, same, scale=scale)


def _distance(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    used = root(query, key, key) if scale is None else scale
    return stable_softmax(-torch.cdist(query, key) * used)


def _sums_multiplied(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    used = root(query, key, key) if scale is None else scale
    return stable_softmax(query.sum(-1, keepdim=True) * key.sum(-1).unsqueeze(-2) * used)


def _lower(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


def _cosine(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    unit = torch.nn.functional.normalize
    return attention_weights(
        unit(query, dim=-1), unit(key, dim=-1), 1.0 if scale is None else scale
    )


def _scaled_cosine(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    return _cosine(query, key, 1 / math.sqrt(query.shape[-1]) if scale is None else scale)


OWN = (
    Misconception(
        "PyTorch's own attention inside",
        _torch_inside,
        "PyTorch's own attention did the work, on values that return its weights. The point is to "
        "write it: which three steps does it hide?",
        sign=lambda trace: any("scaled_dot_product" in name for name in trace.calls),
    ),
    Misconception(
        "distance instead of dot product",
        _distance,
        "Each pair is scored by its distance. A dot product also grows with the lengths: which "
        "operation multiplies entry by entry and adds up?",
        also=(
            lambda query, key, scale=None: stable_softmax(
                -torch.cdist(query, key).square()
                * (root(query, key, key) if scale is None else scale)
            ),
        ),
    ),
    Misconception(
        "features summed before the product",
        _sums_multiplied,
        "The features were summed for each vector alone, and the two sums multiplied. In a dot "
        "product, which comes first: multiply or add?",
    ),
    Misconception(
        "always causal",
        build_weights(turn=lambda s: stable_softmax(s.masked_fill(~_lower(s), -torch.inf))),
        "Each query sees only keys up to its own position, though nobody asked for it. Where does "
        "that mask come from?",
        also=(build_weights(turn=lambda s: stable_softmax(s.masked_fill(~_lower(s), -1e9))),),
    ),
    Misconception(
        "random numbers inside",
        build_weights(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens "
        "inside. Do the rows still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
        forbidden=False,
    ),
    Misconception(
        "query and key swapped",
        lambda query, key, scale=None: attention_weights(key, query, scale),
        "The table has a row for each key. Which of the two asks, and so owns a row?",
        also=(lambda query, key, scale=None: attention_weights(query, key, scale).mT,),
    ),
    Misconception(
        "key reshaped instead of transposed",
        _key_turned(lambda key: key.reshape(key.mT.shape)),
        "The numbers of different keys are mixed. `view` and `reshape` cut memory anew; what "
        "swaps two axes?",
    ),
    Misconception(
        "axes swapped that are not the last two",
        _key_turned(lambda key: key.permute(*reversed(range(key.dim())))),
        "It works for some numbers of axes and fails for others: `.T`, `transpose(0, 1)` and "
        "`transpose(1, 2)` count from the front. Which two axes should swap, counted from the end?",
        also=(
            _key_turned(lambda key: key.transpose(0, 1)),
            _key_turned(lambda key: key.transpose(1, 2)),
        ),
    ),
    Misconception(
        "cosine similarity",
        _cosine,
        "The lengths of query and key play no part: these are cosines. Does a dot product divide "
        "by the lengths?",
        also=(_scaled_cosine,),
    ),
)
