"""Exercise: linear attention with a causal order, in little memory."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.attention import causal_linear_attention
from course_utils.checking.exercise import Case, Cost, Exercise
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch08_cheaper._averages import IS_AVERAGE
from course_utils.exercises.ch08_cheaper._causal_dear import ALL_WEIGHTS, EVERY_STATE
from course_utils.exercises.ch08_cheaper._causal_linear_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch08_cheaper._counting import largest_above

Make = Callable[[torch.Generator], tuple[Any, ...]]


def _made(
    *leading: int, sizes: tuple[int, int, int], shift: float = 0.0, dtype: str = "float64"
) -> Make:
    """Make query, key and value of the sizes (L, d_k, d_v)."""
    length, d_k, d_v = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query, key = (normal(g, *leading, length, d_k, dtype=kind) + shift for _ in range(2))
        return query, key, normal(g, *leading, length, d_v, dtype=kind)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(x) for x in _made(2, sizes=(6, 4, 3))(g))


def _wide(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, 1, sizes=(length, 16, 16), dtype="float32")(g)


def _narrow(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return _made(1, 1, sizes=(length, 3, 4), dtype="float32")(g)


# A quarter more than the 64 states or 64 × 64 weights that are allowed: values may carry a column
# of ones along. The shorter length stays below by any way; for the longer one, all states of wide
# heads, or all weights of narrow ones, are too much. A run that is a share of the length shows at
# a third, where what is given may lie side by side.
_STATES, _WEIGHTS = 80 * 16 * 16, 80 * 64
_SIZES, _LONG = (64, 256), (64, 768)

EXERCISE = Exercise(
    name="causal_linear_attention",
    chapter=8,
    signature="causal_linear_attention(query, key, value)",
    asks="Do the same over each query's past and itself, without holding a state a position.",
    reference=causal_linear_attention,
    minutes=25,
    difficulty=5,
    importance=5,
    cases=(
        Case("length 3", _made(sizes=(3, 4, 5)), gradient="equal"),
        Case("a batch of length 7", _made(3, sizes=(7, 4, 2))),
        Case("leading axes (2, 3)", _made(2, 3, sizes=(5, 6, 7)), gradient="equal"),
        Case("length 4, all widths 4", _made(4, 4, sizes=(4, 4, 4))),
        Case("length 1: the own value", _made(2, 3, sizes=(1, 4, 5))),
        Case("length 67", _made(2, sizes=(67, 3, 4))),
        Case("length 150", _made(1, 2, sizes=(150, 3, 2)), gradient="equal"),
        Case("length 128", _made(2, sizes=(128, 2, 3))),
        Case("small features: inputs about -14", _made(2, sizes=(5, 4, 6), shift=-14.0)),
        Case("large features: inputs about 50", _made(2, sizes=(5, 4, 6), shift=50.0)),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, sizes=(7, 16, 4), dtype="float32"), tolerance=1e-4),
        Case("bfloat16", _made(2, sizes=(5, 4, 6), dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(IS_AVERAGE,),
    costs=(
        Cost(
            "the largest tensor",
            largest_above(lambda *args: _WEIGHTS),
            _SIZES,
            _narrow,
            0.01,
            ALL_WEIGHTS.says,
            ALL_WEIGHTS,
        ),
        Cost(
            "the largest tensor",
            largest_above(lambda *args: _STATES),
            _SIZES,
            _wide,
            0.01,
            EVERY_STATE.says,
            EVERY_STATE,
        ),
        Cost(
            "the largest tensor",
            largest_above(lambda *args: max(_WEIGHTS, sum(x.numel() for x in args))),
            _LONG,
            _narrow,
            0.2,
            ALL_WEIGHTS.says,
            ALL_WEIGHTS,
        ),
    ),
    hints=(
        "The sums for query i are those for query i - 1 and one term more. What has to be kept "
        "from one query to the next, and how large is it?",
        "One token at a time is right, and slow in Python. A run of r tokens at a time adds all "
        "its keys to the state at once: what do queries then still miss?",
        "Inside a run, use the table of weights, r × r, with everything above its diagonal set to "
        "0; what came before the run, the state gives to all its queries alike.",
        "Both sums have these two parts: the one with the values above, and the one without them "
        "below. The state is updated after the run was read, and never replaced.",
    ),
)
