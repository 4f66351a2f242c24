"""What goes wrong when keys and values are mixed into a few before they are attended to."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._value_mistakes import VALUES
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes
from course_utils.exercises.ch08_cheaper._lifted import lifted
from course_utils.exercises.ch08_cheaper._linformer import both, build, inside


def _mixed_late(query: Tensor, key: Tensor, value: Tensor, E: Tensor, F: Tensor) -> Any:
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ E @ (F.mT @ value)


def _scores_first(query: Tensor, key: Tensor, value: Tensor, E: Tensor, F: Tensor) -> Any:
    scores = query @ key.mT @ E / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ (F.mT @ value)


def _values_last(query: Tensor, key: Tensor, value: Tensor, E: Tensor, F: Tensor) -> Any:
    scores = query @ (E.mT @ key).mT / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ F.mT @ value


def _both_late(query: Tensor, key: Tensor, value: Tensor, E: Tensor, F: Tensor) -> Any:
    scores = query @ key.mT @ E / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ F.mT @ value


LONG_TABLE = Misconception(
    "the long table still made",
    _scores_first,
    "The values are right, but a table of L × S is made and mixed afterwards, or each query meets "
    "all S positions again. Products can be taken in another order: which one makes the keys few "
    "before any query meets them?",
    also=(_values_last, _both_late),
)

MIXING = (
    Misconception(
        "E applied to features",
        both(lambda x, matrix: x @ matrix),
        "E and F were multiplied from the right, so they mixed the features of each key. They have "
        "a row for each position: what is to become fewer, positions or features?",
        also=(
            both(lambda x, matrix: x @ matrix.mT),
            build(keys=lambda k, E, F: k @ E),
            build(values=lambda v, E, F: v @ F),
        ),
    ),
    Misconception(
        "E not transposed",
        both(lambda x, matrix: matrix @ x),
        "The rows of E and F were taken for the mixtures. They are (S, r): a column for each "
        "mixture. What has to stand on the left of the keys?",
        also=(build(keys=lambda k, E, F: E @ k), build(values=lambda v, E, F: F @ v)),
    ),
    Misconception(
        "E and F exchanged",
        build(lambda k, E, F: F.mT @ k, lambda v, E, F: E.mT @ v),
        "The keys were mixed by F and the values by E. Which of them comes first in the arguments, "
        "and belongs to the keys?",
    ),
    Misconception(
        "one matrix for both",
        build(values=lambda v, E, F: E.mT @ v),
        "Keys and values were mixed by the same matrix, and the other one is never used.",
        also=(build(keys=lambda k, E, F: F.mT @ k),),
    ),
    Misconception(
        "the wrong one of the three mixed",
        build(lambda k, E, F: k, lambda v, E, F: v),
        "Keys or values are not mixed as they should be, or queries are too. Which two are long, "
        "and must become r rows?",
        also=(
            build(keys=lambda k, E, F: k),
            build(values=lambda v, E, F: v),
            lambda q, k, v, E, F: build()(E.mT @ q, k, v, E, F),
            build(lambda k, E, F: F.mT @ (E.mT @ k)),
        ),
    ),
    Misconception(
        "mixed after the softmax",
        _mixed_late,
        "The softmax ran over all S keys and its weights were mixed afterwards, so those of a row "
        "no longer sum to 1. Over how many mixtures does a query share 1 out?",
    ),
    Misconception(
        "a softmax of E",
        both(lambda x, matrix: matrix.softmax(0).mT @ x),
        "E and F were turned into shares, or scaled, first. They are used as they are: any numbers "
        "at all.",
        also=(
            both(lambda x, matrix: matrix.softmax(-1).mT @ x),
            both(lambda x, matrix: matrix.mT @ x / matrix.shape[0]),
            both(lambda x, matrix: matrix.mT @ x / matrix.shape[1]),
            both(lambda x, matrix: matrix.mT @ x / math.sqrt(matrix.shape[0])),
            both(lambda x, matrix: matrix.mT @ x / math.sqrt(matrix.shape[1])),
            both(lambda x, matrix: (matrix / matrix.norm(dim=0)).mT @ x),
            both(lambda x, matrix: (matrix / matrix.sum(0)).mT @ x),
        ),
    ),
    Misconception(
        "the first keys instead of mixtures",
        both(lambda x, matrix: x[..., : matrix.shape[1], :]),
        "The first r keys were taken, or plain means of keys. E and F say how much of each key "
        "goes into each mixture: where are they used?",
        also=(
            both(lambda x, matrix: x[..., -matrix.shape[1] :, :]),
            both(
                lambda x, matrix: x.mean(-2, keepdim=True).expand(
                    *x.shape[:-2], matrix.shape[1], -1
                )
            ),
        ),
    ),
    Misconception(
        "a matrix cut off",
        build(lambda k, E, F: E.detach().mT @ k, lambda v, E, F: F.detach().mT @ v),
        "The values are right, but E or F gets no gradient. Both are learned: what cuts them off?",
        also=(
            build(keys=lambda k, E, F: E.detach().mT @ k),
            build(values=lambda v, E, F: F.detach().mT @ v),
        ),
    ),
)
SCALE = (
    Misconception(
        "no scale",
        inside(factor=lambda q, k, v: 1.0),
        "The weights are those of unscaled scores. A mixture is as wide as a key: which root "
        "divides its scores?",
    ),
    Misconception(
        "the root of the wrong size",
        inside(factor=lambda q, k, v: 1 / math.sqrt(k.shape[-2])),
        "The scale is a root, but not of the width of a key. Over how many products does one score "
        "sum?",
        also=(
            inside(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
            inside(factor=lambda q, k, v: 1 / math.sqrt(v.shape[-1])),
            lambda q, k, v, E, F: inside(factor=lambda *_: 1 / math.sqrt(k.shape[-2]))(
                q, k, v, E, F
            ),
            inside(factor=lambda q, k, v: 1 / math.sqrt(k.shape[-2] * k.shape[-1])),
        ),
    ),
    Misconception(
        "divided by d_k",
        inside(factor=lambda q, k, v: 1 / q.shape[-1]),
        "The scores are divided by d_k, so the weights are too even. Whose root is it?",
        also=(inside(factor=lambda q, k, v: q.shape[-1] ** -0.25),),
    ),
    Misconception(
        "multiplied by the root of d_k",
        inside(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
        "The scale makes the scores larger, not smaller. Which way should it push them?",
    ),
    Misconception(
        "scale after softmax",
        inside(scale_last=True),
        "The weights of a row sum to the scale, not to 1. Which numbers is it meant to keep small?",
    ),
    Misconception(
        "causal",
        inside(
            score=lambda q, k, v: (q @ k.mT).masked_fill(
                torch.ones(q.shape[-2], k.shape[-2]).triu(1) > 0, -torch.inf
            )
        ),
        "Some mixtures are hidden from the first queries. Each mixture holds keys from everywhere, "
        "so hiding some of them makes nothing causal: no mask is asked for.",
    ),
)

_OTHERWISE_HERE = {"the root of the width of the values", "query and key swapped"}

MISCONCEPTIONS = (
    *MIXING,
    *SCALE,
    *softmax_mistakes(inside),
    *lifted(VALUES, lambda fn: build(attend=fn), _OTHERWISE_HERE),
    LONG_TABLE,
)
