"""The distance of a guess: from 0, what was measured, to 1, as far as the scale goes."""

import math
from itertools import combinations
from statistics import fmean
from typing import Any

from course_utils.guessing.question import Question

CLOSE = 0.1  # of the scale


def off(question: Question, given: Any, measured: Any) -> float:
    """Return how far a guess was off.

    Of a number, the distance as a share of the scale; of a curve, the mean of that over its places;
    of an order, the share of pairs that stand the wrong way round; a choice is right or wrong.
    """
    if question.kind == "number":
        return abs(place(question, given) - place(question, measured))
    if question.kind == "curve":
        pairs = zip(given, measured, strict=True)
        return fmean(abs(place(question, a) - place(question, b)) for a, b in pairs)
    if question.kind == "order":
        return fmean(given.index(a) > given.index(b) for a, b in combinations(measured, 2))
    return float(given != measured)


def side(question: Question, given: Any, measured: Any) -> int:
    """Return 1 for a number that was too high, -1 for one too low, 0 for one that was close."""
    if question.kind != "number" or off(question, given, measured) <= CLOSE:
        return 0
    return 1 if given > measured else -1


def place(question: Question, value: float) -> float:
    """Return where a value stands on the scale, from 0 to 1; what is beyond an end is at it."""
    low, high = question.low, question.high
    value = min(max(float(value), low), high)
    if question.log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)
