"""Exercise: softmax over the last axis that survives large scores and rows of -inf."""

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided
from course_utils.checking.laws import row_sums_broken, weights_negative
from course_utils.exercises.ch03_scaled_dot_product._softmax_extremes import EXTREMES
from course_utils.exercises.ch03_scaled_dot_product._softmax_mistakes import MISTAKES

INF = torch.inf


def _levels(g: torch.Generator) -> tuple[Tensor]:
    return (normal(g, 3, 5) + torch.tensor([[0.0], [900.0], [-900.0]], dtype=torch.float64),)


def _large(g: torch.Generator) -> tuple[Tensor]:
    rows = [
        [1e4, 9999.0, -1e4, 3.0, 0.0, 9998.5],
        [-1e4, -10001.0, -9999.5, -2e4, -1e4, -3e4],
        [-2e4, -19999.0, -20002.0, -5e4, -20000.5, -3e4],
    ]
    return (torch.tensor(rows, dtype=torch.float64),)


def _empty_row(g: torch.Generator) -> tuple[Tensor]:
    scores = normal(g, 2, 3, 5)
    scores[0, 1] = -INF
    scores[1, 2, :2] = -INF
    scores[1, 0, 4] = -INF
    return (scores,)


def _rows_sum_to_one(args: tuple[Tensor, ...], out: Tensor) -> str | None:
    empty = (args[0] == -INF).all(-1)
    return row_sums_broken(out, torch.where(empty, 0.0, 1.0))


EXERCISE = Exercise(
    name="stable_softmax",
    chapter=3,
    signature="stable_softmax(scores)",
    asks="Turn the last axis of scores into weights that are positive and sum to 1.",
    reference=stable_softmax,
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        Case("one row of four scores", lambda g: (normal(g, 4),), gradient="equal"),
        Case("a batch of shape (2, 3, 5)", lambda g: (normal(g, 2, 3, 5),), gradient="equal"),
        Case("rows at very different levels", _levels),
        Case("scores of ten thousand", _large),
        Case("a row of -inf beside ordinary rows", _empty_row, gradient="equal"),
        Case("nothing but one row of -inf", lambda g: (torch.full((6,), -INF).double(),)),
        Case("an axis of size 1", lambda g: (normal(g, 3, 1),)),
        Case(
            "inputs that do not lie in memory row by row", lambda g: (strided(normal(g, 4, 3, 6)),)
        ),
        Case("float32", lambda g: (normal(g, 2, 7, dtype=torch.float32, size=30.0),)),
        Case("bfloat16", lambda g: (normal(g, 3, 6, dtype=torch.bfloat16, size=2.0),)),
    ),
    misconceptions=(*EXTREMES, *MISTAKES),
    properties=(
        Property("weights are never negative", weights_negative),
        Property("each row sums to 1, a row of -inf to 0", _rows_sum_to_one),
    ),
    hints=(
        "Write the formula first: the exponential of each score, over the sum of its row.",
        "Try it on a score of 10000. The weights of a row stay the same when you subtract one "
        "number from all of its scores: which number keeps every exponential at 1 or below?",
        "`amax` with `keepdim=True` gives one number a row. What is it in a row of -inf, and what "
        "is -inf minus that?",
        "Put 0 in place of a maximum of -inf (`masked_fill`). The exponentials of such a row are "
        "then all 0, and so is their sum: what may you divide by there?",
    ),
)
