"""Exercise: one step of a plain recurrent network."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.exercises.ch01_bottleneck._rnn_inputs import scattered, step
from course_utils.exercises.ch01_bottleneck._rnn_mistakes import MISCONCEPTIONS
from course_utils.models.recurrent import rnn_step


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    """Say which entry no tanh can have given, if there is one."""
    far = (out.detach().abs() > 1.0).nonzero()
    if not len(far):
        return None
    where = tuple(int(i) for i in far[0])
    return f"The state at index {list(where)} is {out[where].item():.4g}."


EXERCISE = Exercise(
    name="rnn_step",
    chapter=1,
    signature="rnn_step(x, h, W_xh, W_hh, b)",
    asks="Make the next state from an input and the state so far, for a whole batch.",
    reference=rnn_step,
    minutes=6,
    difficulty=1,
    importance=3,
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        Case("3 sequences, input and state of width 3", step(3, 3, 3), gradient="equal"),
        Case("4 sequences, input of width 2, state of width 5", step(4, 2, 5), gradient="equal"),
        Case("one sequence", step(1, 6, 4), gradient="equal"),
        Case("input wider than the state", step(2, 7, 3)),
        Case("input and state of width 1", step(3, 1, 1)),
        Case("large inputs: every entry saturates", step(2, 4, 3, size=50.0)),
        Case("inputs that do not lie in memory row by row", scattered(step(3, 5, 4))),
        Case("float32", step(4, 6, 5, dtype="float32")),
        Case("bfloat16", step(2, 3, 4, dtype="bfloat16")),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(Property("a tanh lies between -1 and 1", _outside),),
    hints=(
        "Two things decide the next state: what comes in now, and what is remembered. Each has "
        "its own matrix.",
        "A row of `x` is one sequence. For a row of width d_in and a matrix (d_in, d_h), which "
        "side does the row stand on in the product?",
        "Both products have the shape (B, d_h), and `b` is added to every row of their sum. Where "
        "does tanh come, before or after the sum?",
    ),
)
