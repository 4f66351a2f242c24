"""The picture of chapter 02: one step of a decoder, from scores to the next state."""

import math
from collections.abc import Sequence

import traitlets

from course_utils.widgets.traits import CourseWidget, Number, Whole

LARGEST = 6
"""The most source words that the picture shows."""
STAGES = ("scores", "weights", "context", "state")

# Chosen by hand: `turn` turns a context by about 120 degrees, so that each state asks for the
# next word of the translation, which has another order than the source.
WORDS = (("la", "the"), ("voiture", "car"), ("rouge", "red"))
STATES = ((0.1, 1.0), (0.9, -0.5), (-0.9, -0.4))
FIRST = (0.2, 0.7)
TURN = ((-0.8, 1.3), (-1.3, -0.8))
KEEP = ((0.2, 0.0), (0.0, 0.2))
_PAIR, _WORDS = traitlets.List(traitlets.Float()), traitlets.List(traitlets.Unicode())


class LookStepper(CourseWidget, page="look_stepper"):
    """The widget that ``look_stepper`` makes; its traits follow the controls."""

    words = traitlets.List(_WORDS, help="Each source word and its translation.")
    states = traitlets.List(_PAIR, help="The encoder's states, (S, 2).")
    first = traitlets.List(traitlets.Float(), help="The decoder's first state.")
    turn = traitlets.List(_PAIR, help="What the context adds, (2, 2).")
    keep = traitlets.List(_PAIR, help="What the old state adds, (2, 2).")
    factor = Number(0.0, 0.5, 6, help="What every dot product is multiplied by.")
    step = Whole(
        0, 0, lambda self: len(STAGES) * len(self.words), help="Stages shown, four per word."
    )

    def __repr__(self) -> str:
        return f"LookStepper({len(self.words)} words, factor={self.factor:g}, step={self.step})"


def look_stepper(
    words: Sequence[tuple[str, str]] = WORDS,
    states: Sequence[Sequence[float]] = STATES,
    *,
    factor: float = 2.0,
    step: int = 3,
) -> LookStepper:
    """Step through a decoder that looks with its old state and moves with what it saw.

    Score: factor · s·h. Next state: tanh(c W_c + s W_s). Everything has width 2, so that states,
    context and query can be drawn in one plane.

    Args:
        words: One to six source words, each with its translation.
        states: The encoder's state of each, two numbers.
        factor: From 0.5 to 6; small ones blur the weights, and the decoder loses its way.
        step: How many stages are shown at first, from 0 to four per word.
    """
    table = [[float(x) for x in row] for row in states]
    if not 1 <= len(words) == len(table) <= LARGEST or any(len(row) != 2 for row in table):
        sizes = [len(row) for row in table]
        raise ValueError(
            f"1 to {LARGEST} words must have a state of two numbers each, "
            f"got {len(words)} words and states of {sizes}"
        )
    if not all(math.isfinite(x) for row in table for x in row):
        raise ValueError("states must be finite")
    return LookStepper(
        words=[list(pair) for pair in words], states=table, first=list(FIRST),
        turn=[list(row) for row in TURN], keep=[list(row) for row in KEEP], factor=factor,
        step=step,
    )  # fmt: skip
