"""What goes wrong inside the heads: the mistakes of chapter 03, and what several heads add."""

import math

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._empty_row_mistakes import EMPTY_ROWS
from course_utils.exercises.ch03_scaled_dot_product._mask_mistakes import MASK
from course_utils.exercises.ch03_scaled_dot_product._value_mistakes import VALUES
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes
from course_utils.exercises.ch05_multi_head._multi_head import build, inside

# What several heads rename, or what no case of this exercise can show: there is no scale to give,
# and a value is as wide as a key.
_OTHERWISE_HERE = {
    "mask before the scale",
    "the root of the width of the values",
    "softmax over an axis counted from the front",
}


def _kept(*mistakes: Misconception) -> tuple[Misconception, ...]:
    return tuple(mistake for mistake in mistakes if mistake.name not in _OTHERWISE_HERE)


def _lifted(*mistakes: Misconception) -> tuple[Misconception, ...]:
    """Return mistakes of one head as mistakes of all heads."""
    return tuple(
        Misconception(
            mistake.name,
            build(attend=mistake.wrong),
            mistake.says,
            also=tuple(build(attend=version) for version in mistake.also),
        )
        for mistake in _kept(*mistakes)
    )


def _d_model(query: Tensor) -> int:
    return query.shape[1] * query.shape[-1]


SCALE = (
    Misconception(
        "scaled by the width of the model",
        inside(factor=lambda q, k, v: 1 / math.sqrt(_d_model(q))),
        "The scale is 1/√d_model, so the weights are too even. One head sums over d_k products: "
        "whose root is it?",
        also=(inside(factor=lambda q, k, v: 1 / _d_model(q)),),
    ),
    Misconception(
        "no scale",
        inside(factor=lambda q, k, v: 1.0),
        "The weights are those of unscaled scores: too sharp. By what does q·k grow with d_k?",
    ),
    Misconception(
        "divided by d_k",
        inside(factor=lambda q, k, v: 1 / q.shape[-1]),
        "The scores are divided by d_k, so the weights are too even: the root is missing, or the "
        "scale is applied twice.",
    ),
    Misconception(
        "multiplied by the root of d_k",
        inside(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
        "The scale makes the scores larger, not smaller. Which way should it push them?",
        also=(
            inside(factor=lambda q, k, v: float(q.shape[-1])),
            inside(factor=lambda q, k, v: math.sqrt(_d_model(q))),
        ),
    ),
    Misconception(
        "the root of the wrong size",
        inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1])),
        "The scale is a root, but not of the width of one head. Over how many products does one "
        "score sum?",
        also=(
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(k.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[0])),
            inside(factor=lambda q, k, v: 1 / q.shape[1]),
            inside(factor=lambda q, k, v: q.shape[-1] ** -0.25),
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-1] * q.shape[-2])),
        ),
    ),
    Misconception(
        "scale after softmax",
        inside(scale_last=True),
        "The weights of a row sum to the scale, not to 1: it was applied to the weights "
        "themselves. Which numbers is it meant to keep small?",
    ),
)

SOFTMAX = (
    Misconception(
        "softmax over the heads",
        inside(turn=lambda scores: torch.softmax(scores, 1)),
        "For one pair of query and key, the heads share 1 out among themselves. Each head has 1 to "
        "give, and gives it to keys: which axis, counted from the end?",
    ),
    Misconception(
        "softmax over the sequences",
        inside(turn=lambda scores: torch.softmax(scores, 0)),
        "The sequences of the batch share 1 out among themselves. They have nothing to do with "
        "each other: which axis holds the keys, counted from the end?",
    ),
    *_kept(*softmax_mistakes(inside)),
)
KEYS = Misconception(
    "keys reshaped instead of transposed",
    inside(score=lambda q, k, v: q @ k.reshape(k.mT.shape)),
    "The numbers of different keys are mixed. `view` and `reshape` cut memory anew; what swaps "
    "two axes?",
)
INSIDE = (*SCALE, KEYS, *SOFTMAX, *_lifted(*VALUES, *MASK, *EMPTY_ROWS))
