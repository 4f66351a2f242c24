"""Mistakes with results of any kind: axes of size 1, the axis of the batch, the gradient.

The functions take the lines that go wrong; in `squeezed` and `left_in`, `{}` stands where the axis
is lost or added: `squeezed("return scores{}")`, `squeezed("return out{}, weights{}")`.
"""

from course_utils.checking.mistakes import Mistake, mistake


def squeezed(*lines: str) -> Mistake:
    """Return the mistake of a `squeeze` too many."""
    calls = (".squeeze()", ".squeeze(0)", ".squeeze(1)", ".squeeze(-1)")
    return mistake("squeeze takes too many axes", "With one query, one key or one sequence, an axis is lost: "
                   "`squeeze()` without a number removes every axis of size 1, and with a number an axis that is not "
                   "always of size 1. Which one did you mean?",
                   *(line.replace("{}", call) for line in lines for call in calls))


def left_in(*lines: str) -> Mistake:
    """Return the mistake of an axis too many."""
    calls = (".unsqueeze(-1)", ".unsqueeze(1)", ".unsqueeze(0)")
    return mistake("an axis of size 1 left in", "There is an axis of size 1 too many. Which operation ends with a "
                   "number, and not with a vector of one?",
                   *(line.replace("{}", call) for line in lines for call in calls))


def batch_mixed(*versions: str) -> Mistake:
    """Return the mistake of letting sequences of a batch meet."""
    return mistake("the sequences of a batch mixed", "Sequences of the batch were mixed, or one was used for all. A "
                   "query meets only the keys of its own sequence.", *versions)


def cut_off(*versions: str) -> Mistake:
    """Return the mistake of right values through which nothing can be learned."""
    return mistake("cut off from the gradient", "The values are right, but one of the inputs gets no gradient, so "
                   "nothing would be learned through it. What cuts the thread?", *versions)
