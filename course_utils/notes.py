"""Notes: what a learner's call shows where it is not a verdict, also where it went wrong."""

from dataclasses import dataclass, replace
from typing import Any

from course_utils.checking.exercise import Exercise
from course_utils.checking.progress import Journal
from course_utils.checking.report import Report, card
from course_utils.exercises import find, places

NOTHING: Any = object()  # an argument that was left out
TRIES = 3  # after as many that failed, a verdict names the call that shows a solution


@dataclass(frozen=True)
class Note:
    """Text to show: a card in Jupyter, plain text elsewhere."""

    title: str
    label: str
    text: str
    code: str = ""

    def __str__(self) -> str:
        head = f"{self.label}: {self.title}" if self.label else self.title
        return "\n".join(part for part in (head, self.text, self.code) if part)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return card(f"→ {self.title}", self.label, [self.text] if self.text else [], code=self.code)


def asked_for(exercise: Any, call: str) -> Exercise | Note:
    """Return the exercise of that name, or what to say where there is none, or no name."""
    if exercise is None:
        last = Journal().open_exercise() or next(iter(places()))
        return Note("For which exercise?", "", f'Name it, for example `{call}("{last}")`.')
    problem = _unknown(exercise)
    return Note("There is no such exercise", "", problem) if problem else find(exercise)


def misused(exercise: Any, answer: Any) -> Report | None:
    """Return a verdict on a call of `check` that names no exercise or brings no answer."""
    if callable(exercise):
        name = getattr(exercise, "__name__", "NAME")
        says = f'The exercise\'s name comes first: `check("{name}", {name})`.'
    elif not isinstance(exercise, str):
        says = 'It takes an exercise\'s name and a function: `check("dot_score", dot_score)`.'
    elif problem := _unknown(exercise):
        says = problem
    elif answer is NOTHING:
        says = f'The function itself is missing: `check("{exercise}", {exercise})`.'
    else:
        return None
    return Report(exercise if isinstance(exercise, str) else "check", "unknown", says)


def helped(report: Report) -> Report:
    """Return a verdict on an answer that did not pass with the calls that help as its last line."""
    if report.status in ("passed", "not_attempted", "unknown"):
        return report
    name = report.exercise
    line = f'When you are stuck: `hint("{name}")`'
    if Journal().failed(name) >= TRIES:
        line += f', and one way to write it: `solution("{name}")`'
    return replace(report, note="\n".join(filter(None, (report.note, line))))


def _unknown(exercise: Any) -> str:
    """Return a sentence if no exercise has that name, and nothing if one has."""
    try:
        find(exercise)
    except KeyError as error:
        text = str(error)
        return f"{text[0].upper()}{text[1:]}."
    return ""
