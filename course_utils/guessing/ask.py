"""Ask for a guess in a notebook, and show it below the cell that measures the answer."""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from typing import Any

from course_utils.checking.progress import Journal
from course_utils.guessing.known import Known, digest, known
from course_utils.guessing.question import Given, varied_truth
from course_utils.guessing.scoring import off
from course_utils.notes import Note

STATIC = "ATTENTION_COURSE_STATIC"  # set where notebooks are run for their outputs
_waiting: dict[str, Any] = {}  # cards, by the digest of the cell that measures


@dataclass(frozen=True)
class Asked:
    """A place on a page that no kernel serves; the site puts the question there."""

    name: str

    def __repr__(self) -> str:
        return f"A guess is asked for here: {self.name}."

    def _repr_html_(self) -> str:
        return f'<div class="guess" data-guess="{escape(self.name)}"></div>'


def guess(name: str | None = None) -> Any:
    """Ask for a guess; it is kept, and drawn beside what the next cell measures.

    Run All does not wait for one: a cell without a guess shows what it always shows.

    Args:
        name: The chapter's number and the question's word, such as "03.share".
    """
    if os.environ.get(STATIC) and isinstance(name, str):
        return Asked(name)  # also of one that `guesses.json` does not hold yet
    found = known().get(name) if isinstance(name, str) else None
    if found is None:
        near = get_close_matches(str(name), known(), 1, 0) or ["03.share"]
        return Note("There is no such guess", "", f'Name it, for example `guess("{near[0]}")`.')
    return _card(found)


def _card(found: Known) -> Any:
    from course_utils.widgets.guess_card.guess_card import guess_card

    before = sum(1 for _ in _given(found.question.name))
    question, truth = found.question.posed(before), found.truth
    again = bool(found.question.varied and before)  # in other numbers, which no cell measures
    if again:
        truth = varied_truth(found.question, before)

    def keep(given: Given) -> None:
        more = {"given": given, "truth": truth, "off": round(off(question, given, truth), 4)}
        Journal().add("guess", question.name, **more)

    card = guess_card(question, truth, ran=again, keep=keep)
    _waiting[found.cell] = card
    _listen()
    return card


def _given(name: str) -> Any:
    events = Journal().events()
    return (e for e in events if e.get("event") == "guess" and e["exercise"] == name)


def last_given(name: str) -> Given | None:
    """Return the last guess that was given, None if there is none."""
    found = None
    for event in _given(name):
        found = event.get("given")
    return found


def _listen() -> None:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None and _ran not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _ran)


def _ran(result: Any) -> None:
    """Show a guess below the cell that measured its answer."""
    card = _waiting.get(digest(str(result.info.raw_cell or "")))
    if card is None or result.error_in_exec is not None:
        return
    card.ran = True
    if card.given is not None:
        from IPython.core.display_functions import display

        from course_utils.widgets.guess_card.guess_card import GuessCard

        shown = GuessCard(question=card.question, truth=card.truth, given=card.given, ran=True)
        display(shown)  # type: ignore[no-untyped-call]
