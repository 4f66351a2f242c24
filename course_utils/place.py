"""A learner's place in the course: what to go on with, and what is due to be written again.

No exercise is loaded for it, so that `make learn` can say it at once.
"""

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from course_utils.checking.progress import VARIABLE, Journal
from course_utils.checking.report import card
from course_utils.checking.reviewing import due
from course_utils.overview import Overview, Row, linked
from course_utils.sources import exercise_places, pages

_OWN: list[str | None] = []  # what named the learner's journal before `first_page`


@dataclass(frozen=True)
class Place:
    """The exercise to go on with, if there is one, the names of those due, False before the first.

    Where the chapters' sources are not installed, none is known.
    """

    row: Row | None
    due: tuple[str, ...]
    begun: bool

    @property
    def page(self) -> str | None:
        """The name of the chapter to open; None before the first check and after the last."""
        page = pages().get(self.row.chapter) if self.begun and self.row else None
        return page.name if page else None

    def _sentences(self, mark: str = "") -> list[str]:
        known = f"{mark}progress(){mark} says how far you are."  # an installation without sources
        said = ["All exercises are passed." if self.begun else known]
        if self.row:
            does = "Go on with" if self.begun else "The first exercise is"
            name, chapter = f"{mark}{self.row.name}{mark}", f"chapter {self.row.chapter:02d}"
            said = [f"{does} {name}, {chapter}."]
        if self.due:
            names = ", ".join(f"{mark}{name}{mark}" for name in self.due)
            said.append(f"To write again, from memory: {names} ({mark}review(){mark}).")
        return said

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        first, *more = self._sentences("`")
        known = pages()
        link = linked(self.row.chapter, known.get(self.row.chapter)) if self.row else ""
        return card(f"→ {first}", "", more, below=f'<p style="margin:0">{link}</p>')


def find_place() -> Place:
    """Return where the learner is: at the last answer, if it did not pass, or at what is next."""
    journal, known = Journal(), exercise_places()
    events = [event for event in journal.events() if event["exercise"] in known]
    states = journal.states()
    checks = (event for event in events if event.get("event") == "check")
    tried = [one["exercise"] for one in checks if one.get("status") != "not_attempted"]
    rows = {
        name: Row(int(place.page[:2]), name, states.get(name, ""), 0, place.further)
        for name, place in known.items()
    }
    row = Overview(tuple(rows.values())).next_row
    if tried and states[tried[-1]] == "tried":
        row = rows[tried[-1]]
    names = tuple(one.exercise for one in due(events, time.time()))
    return Place(row, names, bool(tried and rows))


def first_page() -> Place:
    """Return where the learner is; what this kernel checks from now on is not their progress."""
    if not _OWN:
        _OWN.append(os.environ.get(VARIABLE))
    elif _OWN[0] is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = _OWN[0]
    found = find_place()
    os.environ[VARIABLE] = str(Path(tempfile.mkdtemp(), "progress.jsonl"))
    return found
