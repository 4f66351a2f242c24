"""What goes wrong when two partial results are merged: the logsumexp."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._merging import build, joined, safe, shares


def _in_float32(*args: Tensor) -> Any:
    return tuple(x.to(args[0].dtype) for x in build()(*(x.float() for x in args)))


LOGSUMEXP = (
    Misconception(
        "the two lse added",
        build(lse=lambda a, b: a + b),
        "The logsumexps were added, which multiplies the sums behind them. What has to be added, "
        "and where do the logarithm and the exponential go?",
    ),
    Misconception(
        "the larger lse",
        build(lse=torch.maximum),
        "The new lse is the larger of the two. That is the maximum to measure against; the sum of "
        "both parts is larger than either of them.",
        also=(build(lse=torch.minimum),),
    ),
    Misconception(
        "the lse averaged",
        build(lse=lambda a, b: (a + b) / 2),
        "The new lse lies between the two. It belongs to the union of the keys: can it be smaller "
        "than the larger one?",
        also=(
            build(lse=lambda a, b: joined(a, b) - math.log(2)),
            build(
                lse=lambda a, b: (
                    (a.sigmoid() * 0 + (a - joined(a, b)).exp()) * safe(a)
                    + (b - joined(a, b)).exp() * safe(b)
                )
            ),
        ),
    ),
    Misconception(
        "the maximum left out of lse",
        build(lse=lambda a, b: sum(shares(a, b)).log()),  # type: ignore[union-attr]
        "lse is the logarithm of the sum that was measured against the larger lse, and that one "
        "is missing. What was subtracted has to come back.",
    ),
    Misconception(
        "no logarithm in lse",
        build(lse=lambda a, b: safe(torch.maximum(a, b)) + sum(shares(a, b))),
        "A sum of exponentials stands where its logarithm belongs.",
        also=(
            build(lse=lambda a, b: a.exp() + b.exp()),
            build(lse=lambda a, b: sum(shares(a, b)) + torch.zeros_like(a)),
        ),
    ),
    Misconception(
        "lse of one part",
        build(lse=lambda a, b: a.clone()),
        "lse is that of one part. The next merge would then weigh the result as if the other one "
        "had not been there.",
        also=(build(lse=lambda a, b: b.clone()),),
    ),
    Misconception(
        "in lower precision",
        _in_float32,
        "The parts were merged in float32, although float64 came in. Which line changes the type?",
    ),
)
