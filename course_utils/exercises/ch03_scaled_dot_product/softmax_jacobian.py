"""Exercise: how every weight answers to every score."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import softmax_jacobian
from course_utils.checking.exercise import Case, Exercise, Function, Property
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch03_scaled_dot_product._jacobian_mistakes import MISCONCEPTIONS


def _weights(*shape: int, sharpness: float = 1.0, dtype: str = "float64") -> Any:
    def make(g: torch.Generator) -> tuple[Tensor]:
        weights = torch.softmax(normal(g, *shape, size=sharpness), -1)
        return (weights.to(getattr(torch, dtype)),)

    return make


def _with_zeros(g: torch.Generator) -> tuple[Tensor]:
    weights = torch.softmax(normal(g, 2, 4, 3), -1)
    weights[0, 1] = 0.0
    weights[1, 2] = torch.tensor([0.0, 1.0, 0.0])
    return (weights,)


def _strided(g: torch.Generator) -> tuple[Tensor]:
    return (strided(torch.softmax(normal(g, 4, 6), -1)),)


def _through_softmax(fn: Function, scores: Tensor) -> Any:
    """Use the function as it is used: on weights that come from scores."""
    return fn(torch.softmax(scores, -1))


def _rows_sum_to_zero(args: tuple[Tensor, ...], out: Tensor) -> str | None:
    sums = out.detach().double().sum(-1)
    wrong = (sums.abs() > 1e-3).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}, not to 0."


EXERCISE = Exercise(
    name="softmax_jacobian",
    chapter=3,
    signature="softmax_jacobian(weights)",
    asks="From the weights alone, give the slope of weight i in score j, for all i and j.",
    reference=softmax_jacobian,
    minutes=12,
    difficulty=3,
    importance=4,
    cases=(
        Case("one row of 3 weights", _weights(3), gradient="finite"),
        Case("a batch of shape (2, 5), 4 weights", _weights(2, 5, 4)),
        Case("a saturated row", _weights(2, 6, sharpness=20.0)),
        Case("a row of zeros and a row with a single 1", _with_zeros, gradient="finite"),
        Case("one weight only", _weights(3, 1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("three leading axes", _weights(2, 1, 3, 4)),
        Case(
            "weights that come from scores",
            lambda g: (normal(g, 2, 5),),
            run=_through_softmax,
            gradient="equal",
        ),
        Case("float32", _weights(3, 7, dtype="float32")),
        Case("bfloat16", _weights(3, 4, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        Property("the weights stay at a sum of 1, so each row sums to 0", _rows_sum_to_zero),
    ),
    hints=(
        "Take w_i = exp(s_i)/Σ exp(s_k) and differentiate by s_j. Do i = j and i ≠ j apart.",
        "For i = j you get w_i (1 - w_i), for i ≠ j you get -w_i w_j. One formula holds both: "
        "w_i (δ_ij - w_j).",
        "As a table: a diagonal with the weights on it, minus all products w_i w_j.",
        "`torch.diag_embed` makes the diagonal for any leading axes; `unsqueeze(-1)` and "
        "`unsqueeze(-2)` make a column and a row whose product is the table of all pairs.",
    ),
)
