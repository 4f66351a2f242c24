"""Exercise: how every weight answers to every score."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import softmax_jacobian
from course_utils.checking.exercise import Case, Exercise, Misconception, Property
from course_utils.checking.inputs import normal, strided


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


def _outer(w: Tensor) -> Tensor:
    return w.unsqueeze(-1) * w.unsqueeze(-2)


def _autograd(w: Tensor) -> Tensor:
    flat = w.detach().reshape(-1, w.shape[-1]).clamp(min=1e-300).log()
    rows = [torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), row) for row in flat]
    return torch.stack(rows).reshape(*w.shape, w.shape[-1])


def _rows_sum_to_zero(args: tuple[Tensor, ...], out: Tensor) -> str | None:
    sums = out.detach().double().sum(-1)
    wrong = (sums.abs() > 1e-3).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}, not to 0."


MISCONCEPTIONS = (
    Misconception(
        "autograd inside",
        _autograd,
        "Autograd did the work. The point is the formula: what does one weight do when another "
        "one's score rises?",
        sign=lambda trace: trace.used_autograd,
    ),
    Misconception(
        "the diagonal only",
        lambda w: torch.diag_embed(w * (1 - w)),
        "Only the diagonal is filled. The weights share 1 out: when one score rises, what happens "
        "to the other weights?",
        also=(
            lambda w: w * (1 - w),
            lambda w: torch.diag_embed(w),
            lambda w: torch.diag_embed(w - w.square()),
        ),
    ),
    Misconception(
        "the diagonal missing",
        lambda w: -_outer(w),
        "A weight's answer to its own score is negative here. What comes on top where i = j?",
        also=(
            lambda w: -_outer(w) + torch.diag_embed(w.square()),
            _outer,
        ),
    ),
    Misconception(
        "sign of the rest flipped",
        lambda w: torch.diag_embed(w) + _outer(w),
        "A rising score raises every weight here, but together they must stay at 1. Which sign "
        "have the entries off the diagonal?",
        also=(
            lambda w: torch.diag_embed(w * (1 - w)) + _outer(w) - torch.diag_embed(w.square()),
            lambda w: _outer(w) - torch.diag_embed(w),
        ),
    ),
    Misconception(
        "one in place of the weight",
        lambda w: torch.eye(w.shape[-1], dtype=w.dtype).expand(*w.shape, -1) - _outer(w),
        "The diagonal has 1 where it should have a weight: (δ_ij - w_j) has lost its factor. "
        "What does the whole row hang on?",
        also=(
            lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - w.unsqueeze(-2).expand(*w.shape, -1),
            lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - w.unsqueeze(-1).expand(*w.shape, -1),
        ),
    ),
    Misconception(
        "one minus the other weight everywhere",
        lambda w: w.unsqueeze(-1) * (1 - w.unsqueeze(-2)),
        "Off the diagonal w_i (1 - w_j) stands, which is positive. That is the rule for i = j "
        "alone; what is it for the others?",
    ),
    Misconception(
        "softmax applied once more",
        lambda w: softmax_jacobian(torch.softmax(w, -1)),
        "This is the slope at other weights: a softmax was applied to what had been through one. "
        "What is given, scores or weights?",
    ),
    Misconception(
        "rows of the batch mixed",
        lambda w: torch.diag(w.flatten()) - torch.outer(w.flatten(), w.flatten()),
        "The table is as large as the whole batch. Each row of weights has a table of its own: "
        "which axes may an outer product touch?",
        also=(lambda w: torch.diag(w) - torch.outer(w, w),),
    ),
)

EXERCISE = Exercise(
    name="softmax_jacobian",
    chapter=3,
    signature="softmax_jacobian(weights)",
    asks="From the weights alone, give the slope of weight i in score j, for all i and j.",
    reference=softmax_jacobian,
    minutes=12,
    difficulty=3,
    importance=4,
    gradient="finite",
    cases=(
        Case("one row of 3 weights", _weights(3), gradient=True),
        Case("a batch of shape (2, 5), 4 weights", _weights(2, 5, 4), gradient=True),
        Case("a saturated row", _weights(2, 6, sharpness=20.0)),
        Case("a row of zeros and a row with a single 1", _with_zeros, gradient=True),
        Case("one weight only", _weights(3, 1)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("three leading axes", _weights(2, 1, 3, 4)),
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
