"""The card of a guess: it asks, keeps what was given, and shows it beside what was measured."""

from collections.abc import Callable
from typing import Any

import traitlets

from course_utils.guessing.question import Given, Question
from course_utils.widgets.traits import CourseWidget, Flag


class GuessCard(CourseWidget, page="guess_card"):
    """The widget that ``guess_card`` makes."""

    question = traitlets.Dict(help="What is asked: see `told`.")
    given = traitlets.Any(None, help="The guess, None before it is given.")
    truth = traitlets.Any(help="What was measured.")
    ran = Flag(help="True once what was measured may be shown.")

    def __repr__(self) -> str:
        return f"GuessCard({self.question['asks']!r}, given={self.given!r})"


def told(question: Question) -> dict[str, Any]:
    """Return what a page is told of a question; where its answer is found is not."""
    orders = {"ascending": "Smallest first.", "descending": "Largest first."}
    names = ("name", "kind", "asks", "low", "high", "log", "unit", "across")
    return {
        **{name: getattr(question, name) for name in names},
        "words": list(question.options),
        "x": list(question.x),
        "first": orders.get(question.take, ""),
    }


def guess_card(
    question: Question,
    truth: Given,
    given: Given | None = None,
    *,
    ran: bool = False,
    keep: Callable[[Given], None] | None = None,
) -> GuessCard:
    """Ask for a guess, and show it beside what was measured once that has been run.

    Args:
        question: What is asked.
        truth: What was measured.
        given: A guess that was given before.
        ran: True if what was measured may be shown at once.
        keep: Called with each guess that is given.
    """
    card = GuessCard(question=told(question), truth=truth, given=given, ran=ran)
    if keep is not None:
        card.observe(lambda change: change["new"] is not None and keep(change["new"]), "given")
    return card
