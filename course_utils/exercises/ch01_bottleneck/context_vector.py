"""Exercise: the weighted sum of the encoder's states."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import context_vector
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch01_bottleneck._context_mistakes import MISCONCEPTIONS


def _made(
    batch: int, steps: int, d_h: int, given: bool = False, size: float = 1.0, dtype: str = "float64"
) -> Any:
    """Return a maker of weights and states; `given` weights are any numbers at all."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        kind = getattr(torch, dtype)
        weights = normal(g, batch, steps)
        weights = (weights if given else weights.softmax(-1)).to(kind)
        return weights, normal(g, batch, steps, d_h, size=size, dtype=kind)

    return make


def _some_zero(g: torch.Generator) -> tuple[Tensor, Tensor]:
    weights, states = _made(3, 5, 2)(g)
    weights[1] = 0.0
    weights[2] = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    return weights, states


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor]:
    weights, states = _made(3, 6, 4)(g)
    return strided(weights), strided(states)


EXERCISE = Exercise(
    name="context_vector",
    chapter=1,
    signature="context_vector(weights, states)",
    asks="Add the states up, each times its weight.",
    reference=context_vector,
    minutes=5,
    difficulty=1,
    importance=5,
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case("3 sequences, 3 states of width 3", _made(3, 3, 3), gradient="equal"),
        Case("2 sequences, 5 states of width 4", _made(2, 5, 4), gradient="equal"),
        Case("weights that do not sum to 1, some negative", _made(2, 4, 3, True), gradient="equal"),
        Case("a row of zeros, and all weight on one state", _some_zero, gradient="equal"),
        Case("one sequence", _made(1, 4, 3)),
        Case("one state", _made(3, 1, 2, True)),
        Case("states of width 1", _made(2, 5, 1)),
        Case("one sequence, one state of width 1", _made(1, 1, 1, True)),
        Case("large states", _made(2, 6, 3, size=1e6)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(4, 7, 5, dtype="float32")),
        Case("bfloat16", _made(2, 5, 3, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Every state of a sequence is multiplied by one number, and the results are added. Which "
        "axis disappears?",
        "The shapes (B, S) and (B, S, d_h) do not line up for a product: where does the weights' "
        "shape lack an axis?",
        "Either give the weights a last axis of size 1 and sum over the states, or make a row of "
        "them, (B, 1, S), for a batched matrix product.",
    ),
)
