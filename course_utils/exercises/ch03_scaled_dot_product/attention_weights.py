"""Exercise: how much each query takes from each key."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attention_weights
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided
from course_utils.checking.laws import row_sums_broken, weights_negative
from course_utils.exercises.ch03_scaled_dot_product._attention import (
    build_weights,
    scale_that_explains,
)
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import Make
from course_utils.exercises.ch03_scaled_dot_product._own_weight_mistakes import OWN
from course_utils.exercises.ch03_scaled_dot_product._scale_mistakes import scale_mistakes
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes


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


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key = args[:2]
    if got.shape != (*query.shape[:-1], key.shape[-2]) or key.shape[-2] < 2:
        return False
    return scale_that_explains(lambda scale: attention_weights(query, key, scale), got.detach())


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
        Case("2 queries, 3 keys, width 4", _pair(queries=2, keys=3, d_k=4), gradient="equal"),
        Case(
            "a batch of shape (2, 3): 5 queries, 7 keys, width 6",
            _pair(2, 3, queries=5, keys=7, d_k=6),
            gradient="equal",
        ),
        Case("scale=0.3", _with_scale(0.3), gradient="equal"),
        Case("scale=0.0: every key counts the same", _with_scale(0.0)),
        Case("scale=-2.0", _with_scale(-2.0)),
        Case("scale=1.0", _with_scale(1.0)),
        Case("scale=2.5", _with_scale(2.5)),
        Case("scale=2, a whole number", _with_scale(2)),
        Case("scores of thousands", _pair(2, queries=4, keys=5, d_k=9, size=60.0)),
        Case("one query and one key", _pair(3, queries=1, keys=1, d_k=4)),
        Case("4 everywhere: all fits any way round", _pair(4, queries=4, keys=4, d_k=4)),
        Case("one query, 6 keys, width 1", _pair(queries=1, keys=6, d_k=1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("three leading axes", _pair(2, 1, 3, queries=4, keys=2, d_k=5)),
        Case("float32", _pair(2, queries=3, keys=5, d_k=16, dtype="float32")),
        Case("bfloat16", _pair(2, queries=3, keys=5, d_k=4, dtype="bfloat16")),
    ),
    misconceptions=(
        *OWN,
        *scale_mistakes(build_weights, _some_scale),
        *softmax_mistakes(build_weights),
    ),
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
