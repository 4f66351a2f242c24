"""Exercise: one sequence reads another."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import cross_attention
from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import normal, strided
from course_utils.exercises.ch03_scaled_dot_product._attention_inputs import Make
from course_utils.exercises.ch04_queries_keys_values._cross_batch_mistakes import BATCH
from course_utils.exercises.ch04_queries_keys_values._cross_mistakes import ROLES
from course_utils.exercises.ch04_queries_keys_values._cross_scale_mistakes import SCALE
from course_utils.exercises.ch04_queries_keys_values._cross_steps import build
from course_utils.exercises.ch04_queries_keys_values._score_mistakes import (
    score_mistakes,
    softmax_over_keys_mistakes,
)
from course_utils.exercises.ch04_queries_keys_values._share_mistakes import share_mistakes
from course_utils.exercises.ch04_queries_keys_values._value_mistakes import value_mistakes


def _made(
    batch: int,
    length: int,
    context_length: int,
    widths: tuple[int, int, int, int],
    size: float = 1.0,
    dtype: str = "float64",
) -> Make:
    """Return a maker of the arguments; the widths are d, d_c, d_k and d_v."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        d, d_c, d_k, d_v = widths
        kind = getattr(torch, dtype)
        x = normal(g, batch, length, d, size=size, dtype=kind)
        context = normal(g, batch, context_length, d_c, size=size, dtype=kind)
        shapes = ((d, d_k), (d_c, d_k), (d_c, d_v))
        # So sized that scores are about 1: saturated weights hide a wrong scale.
        matrices = (normal(g, *shape, size=shape[0] ** -0.5, dtype=kind) for shape in shapes)
        return (x, context, *matrices)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(tensor) for tensor in _made(2, 3, 5, (4, 6, 8, 7))(g))


def _own_context(g: torch.Generator) -> tuple[Any, ...]:
    x, _, *matrices = _made(2, 4, 4, (5, 5, 3, 6))(g)
    return (x, x, *matrices)


def _zeros_in_context(g: torch.Generator) -> tuple[Any, ...]:
    x, context, *matrices = _made(2, 3, 5, (4, 6, 3, 7))(g)
    context[0, 3:] = 0.0
    return (x, context, *matrices)


def _outside_the_values(args: tuple[Any, ...], out: Tensor) -> str | None:
    value = (args[1] @ args[4]).double()
    low, high = value.amin(1, keepdim=True), value.amax(1, keepdim=True)
    room = 0.05 * (high - low) + 0.05
    got = out.detach().double()
    # A NaN is outside too: no comparison with it holds.
    wrong = (~((got >= low - room) & (got <= high + room))).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return (
        f"The output at index {list(where)} is {out[where].item():.4g}, outside the range of the "
        "values that it should average."
    )


EXERCISE = Exercise(
    name="cross_attention",
    chapter=4,
    signature="cross_attention(x, context, W_q, W_k, W_v)",
    asks="Let each position of one sequence read another: queries from x, the rest from context.",
    reference=cross_attention,
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        # All sizes equal: a mistake with axes or roles gives numbers here, and can be named by
        # them.
        Case("3 sequences of length 3, all widths 3", _made(3, 3, 3, (3, 3, 3, 3)), "equal"),
        Case("4 positions read 5, all widths different", _made(2, 4, 5, (3, 6, 7, 8)), "equal"),
        Case("equal lengths, two sequences", _made(2, 4, 4, (3, 3, 3, 3))),
        Case("x longer than the context", _made(3, 6, 2, (5, 4, 3, 7)), "equal"),
        Case("d_k far below the width of x", _made(2, 3, 5, (16, 9, 2, 4))),
        Case("d_k far above the width of x", _made(2, 3, 6, (3, 4, 24, 5))),
        Case("x as its own context", _own_context),
        Case("one position asks", _made(2, 1, 6, (4, 5, 3, 2))),
        Case("a context of one position", _made(2, 4, 1, (3, 5, 6, 4))),
        Case("one sequence", _made(1, 3, 5, (4, 2, 5, 6))),
        Case("every width 1", _made(2, 3, 4, (1, 1, 1, 1))),
        Case("scores of thousands", _made(2, 3, 5, (4, 6, 7, 8), size=60.0), "finite"),
        Case("inputs that do not lie in memory row by row", _strided),
        Case("float32", _made(2, 3, 5, (8, 6, 16, 4), dtype="float32")),
        Case("bfloat16", _made(2, 3, 4, (3, 5, 4, 6), dtype="bfloat16"), tolerance=0.2),
        Case("positions of zeros in the context, which count too", _zeros_in_context),
    ),
    misconceptions=(
        *ROLES,
        *SCALE,
        *score_mistakes(build),
        *softmax_over_keys_mistakes(build),
        *share_mistakes(build),
        *value_mistakes(build),
        *BATCH,
    ),
    properties=(Property("the output is an average of values", _outside_the_values),),
    hints=(
        "The output has a row for each position of `x`. Which of query, key and value must then "
        "come from `x`?",
        "Keys and values belong together: a weight found with a key is used on the value at the "
        "same place. Both are made from the context.",
        "After the three products it is chapter 03's attention, without a mask. What are the "
        "shapes of the scores and of the output?",
        "The scale is that of the vectors that meet: the number of columns of `W_q`, not the "
        "width of `x`.",
    ),
)
