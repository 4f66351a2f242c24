"""Exercise: the backward pass of attention, by hand."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attention_backward
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch03_scaled_dot_product._backward_mistakes import WHOLE
from course_utils.exercises.ch03_scaled_dot_product._backward_softmax_mistakes import (
    THROUGH_SOFTMAX,
)


def _inputs(
    *leading: int,
    queries: int,
    keys: int,
    d_k: int,
    d_v: int,
    size: float = 1.0,
    dtype: str = "float64",
) -> Any:
    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        kind = getattr(torch, dtype)
        shapes = ((queries, d_k), (keys, d_k), (keys, d_v), (queries, d_v))
        sizes = (size, size, 1.0, 1.0)
        return tuple(
            normal(g, *leading, *shape, size=s, dtype=kind)
            for shape, s in zip(shapes, sizes, strict=True)
        )

    return make


def _strided(g: torch.Generator) -> tuple[Tensor, ...]:
    return tuple(strided(x) for x in _inputs(2, queries=3, keys=6, d_k=4, d_v=5)(g))


EXERCISE = Exercise(
    name="attention_backward",
    chapter=3,
    signature="attention_backward(query, key, value, grad_out)",
    asks="Given the gradient of the output, give those of query, key and value.",
    reference=attention_backward,
    minutes=20,
    difficulty=4,
    importance=4,
    parts=("grad_query", "grad_key", "grad_value"),
    cases=(
        Case(
            "2 queries, 3 keys, widths 4 and 5",
            _inputs(queries=2, keys=3, d_k=4, d_v=5),
            gradient="equal",
        ),
        Case(
            "a batch of shape (2, 3): 5 queries, 7 keys",
            _inputs(2, 3, queries=5, keys=7, d_k=6, d_v=4),
            gradient="equal",
        ),
        Case("more queries than keys", _inputs(2, queries=8, keys=3, d_k=5, d_v=6)),
        Case("saturated weights", _inputs(2, queries=3, keys=4, d_k=6, d_v=3, size=20.0)),
        Case("one query and one key", _inputs(queries=1, keys=1, d_k=3, d_v=2)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("three leading axes", _inputs(2, 1, 2, queries=3, keys=5, d_k=2, d_v=4)),
        Case("float32", _inputs(2, queries=4, keys=6, d_k=8, d_v=3, dtype="float32")),
        Case("4 everywhere: all fits any way round", _inputs(4, queries=4, keys=4, d_k=4, d_v=4)),
    ),
    misconceptions=(*WHOLE, *THROUGH_SOFTMAX),
    hints=(
        "Compute the forward pass once more: scores, weights. Then go back one step at a time.",
        "out = weights @ value is a matrix product. Its two gradients are weightsᵀ @ grad_out and "
        "grad_out @ valueᵀ: which belongs to what?",
        "Through the softmax, a row g of gradients becomes w * (g - Σ w g): the Jacobian applied, "
        "without building it.",
        "scores = scale · query @ keyᵀ is a matrix product again, with a factor that stays.",
        "In order: grad_weights, row average, grad_scores times the scale; then grad_scores @ key "
        "and grad_scoresᵀ @ query.",
    ),
)
