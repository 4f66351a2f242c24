"""Exercise: how much each query takes from each key."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attention_weights, stable_softmax
from course_utils.checking.exercise import Case, Exercise, Function, Misconception, Property
from course_utils.checking.inputs import normal, strided
from course_utils.checking.laws import row_sums_broken, weights_negative
from course_utils.exercises.ch03_scaled_dot_product._attention import build_weights, root
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import Make
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import (
    scale_mistakes,
    softmax_mistakes,
)


def _pair(
    *leading: int, queries: int, keys: int, d_k: int, size: float = 1.0, dtype: str = "float64"
) -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        query = normal(g, *leading, queries, d_k, size=size, dtype=kind)
        return query, normal(g, *leading, keys, d_k, size=size, dtype=kind)

    return make


def _with_scale(scale: float) -> Make:
    make = _pair(2, 3, queries=4, keys=7, d_k=5)
    return lambda g: (*make(g), scale)


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    query, key = _pair(2, queries=3, keys=6, d_k=8)(g)
    return strided(query), strided(key)


def _rows_sum_to_one(args: tuple[Tensor, ...], out: Tensor) -> str | None:
    return row_sums_broken(out, torch.ones(out.shape[:-1], dtype=torch.float64))


def _key_turned(turn: Any) -> Function:
    """Return a version that makes (d_k, S) of the key by `turn`."""

    def wrong(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
        used = root(query, key, key) if scale is None else scale
        return stable_softmax(query @ turn(key) * used)

    return wrong


def _cosine(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    unit = torch.nn.functional.normalize
    return attention_weights(
        unit(query, dim=-1), unit(key, dim=-1), 1.0 if scale is None else scale
    )


def _scaled_cosine(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    return _cosine(query, key, 1 / math.sqrt(query.shape[-1]) if scale is None else scale)


_OWN = (
    Misconception(
        "random numbers inside",
        build_weights(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens "
        "inside. Do the rows still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
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
        "transposed over the wrong axes",
        _key_turned(lambda key: key.permute(*reversed(range(key.dim())))),
        "It works for some numbers of axes and fails for others: `.T` and `transpose(0, 1)` count "
        "from the front. Which two axes should swap, counted from the end?",
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

EXERCISE = Exercise(
    name="attention_weights",
    chapter=3,
    signature="attention_weights(query, key, scale=None)",
    asks="Score each query against each key, scale, and softmax over the keys.",
    reference=attention_weights,
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        Case("2 queries, 3 keys, width 4", _pair(queries=2, keys=3, d_k=4), gradient=True),
        Case(
            "a batch of shape (2, 3): 5 queries, 7 keys, width 6",
            _pair(2, 3, queries=5, keys=7, d_k=6),
            gradient=True,
        ),
        Case("scale=0.3", _with_scale(0.3), gradient=True),
        Case("scale=0.0: every key counts the same", _with_scale(0.0)),
        Case("scale=-2.0", _with_scale(-2.0)),
        Case("scale=1.0", _with_scale(1.0)),
        Case("scores of thousands", _pair(2, queries=4, keys=5, d_k=9, size=60.0)),
        Case("one query and one key", _pair(3, queries=1, keys=1, d_k=4)),
        Case("one query, 6 keys, width 1", _pair(queries=1, keys=6, d_k=1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("three leading axes", _pair(2, 1, 3, queries=4, keys=2, d_k=5)),
        Case("float32", _pair(2, queries=3, keys=5, d_k=16, dtype="float32")),
        Case("bfloat16", _pair(2, queries=3, keys=5, d_k=4, dtype="bfloat16")),
    ),
    misconceptions=(*_OWN, *scale_mistakes(build_weights), *softmax_mistakes(build_weights)),
    properties=(
        Property("weights are never negative", weights_negative),
        Property("each row sums to 1", _rows_sum_to_one),
    ),
    hints=(
        "Three steps: scores, scale, softmax. What is the shape after each?",
        "Every query meets every key in one matrix product. Which of the two must have its last "
        "two axes swapped, and how do you say 'the last two' (`.mT`)?",
        "`scale` is a factor. Only when it `is None` do you compute it yourself, from the size of "
        "the last axis.",
        "The softmax runs over the axis of the keys, which is the last one of the scores. You "
        "have one that is stable already.",
    ),
)
