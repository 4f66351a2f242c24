"""The calls of a learner, which every chapter imports in one line.

`yours` is in answers/parts.py, `dispute` in disputes.py, `guess` in guessing/ask.py. A misspelt
name gets a card, not a traceback.
"""

import os
import time
from dataclasses import replace
from typing import Any

from course_utils.answers import kept
from course_utils.answers.parts import yours
from course_utils.checking.errors import PlainValueError, brief
from course_utils.checking.exercise import Exercise
from course_utils.checking.judge import judge
from course_utils.checking.progress import Journal
from course_utils.checking.report import Report
from course_utils.checking.reviewing import DAYS, due
from course_utils.checking.settings import session
from course_utils.disputes import dispute, remember
from course_utils.exercises import all_exercises, find, places
from course_utils.grading.apart import graded_otherwise
from course_utils.guessing import guess
from course_utils.guessing.beliefs import calibration, due_guesses
from course_utils.guessing.known import known as known_guesses
from course_utils.notes import NOTHING, Note, asked_for, helped, misused
from course_utils.overview import Overview, Row
from course_utils.sources import MARK, exercise_places

__all__ = [
    "check", "dispute", "guess", "hint", "mine", "progress", "review", "solution", "yours",
]  # fmt: skip


def check(exercise: Any = None, answer: Any = NOTHING) -> Report:
    """Judge an answer to an exercise, remember the verdict, and keep what passed: see `mine`.

    Where nbgrader runs or validates a notebook, an answer that does not pass raises, as it
    expects, and nothing is kept.

    Args:
        exercise: The exercise's name, which is also the name of the function to write.
        answer: The function itself, not its result.

    Raises:
        NotPassedError: nbgrader is running the notebook, and the answer does not pass.
    """
    before = session()
    report = misused(exercise, answer) or _verdict(find(exercise), answer)
    if os.environ.get("NBGRADER_EXECUTION"):
        report.require()
    elif report.passed:
        found = find(exercise)
        problems = (kept.keep(found.name, found.chapter, answer), graded_otherwise(found))
        report = replace(report, note=" ".join(filter(None, (report.note, *problems))) or None)
    if report.status != "unknown":
        remember(report, answer, before)
        named = list(report.misconceptions)
        Journal().add("check", exercise, status=report.status, misconceptions=named)
    return helped(report)


def _verdict(found: Exercise, answer: Any) -> Report:
    try:
        return judge(found, answer)
    except Exception as error:
        says = (
            f"The check itself stopped with {brief(error)}. That is a fault of the course, not of "
            f'your function. `dispute("{found.name}")` writes down what is needed to find it.'
        )
        return Report(found.name, "crashed", says)


def hint(exercise: str | None = None, number: int | None = None) -> Note:
    """Show the next hint, or the hint with that number."""
    found = asked_for(exercise, "hint")
    if isinstance(found, Note):
        return found
    name, hints = found.name, found.hints
    if number is not None and number not in range(1, len(hints) + 1):
        return Note("There is no such hint", name, f"It has the hints 1 to {len(hints)}.")
    shown = Journal().count("hint", name)
    if number is None and shown >= len(hints):
        every = "\n".join(f"{i}. {text}" for i, text in enumerate(hints, 1))
        return Note(f"That was the last hint. All {len(hints)} again", name, every)
    if number is None:
        number = shown + 1
        Journal().add("hint", name, number=number)
    return Note(f"Hint {number} of {len(hints)}", name, hints[number - 1])


def solution(exercise: str | None = None, anyway: bool = False) -> Note:
    """Show the course's own solution, once there has been a real attempt.

    Args:
        exercise: The exercise's name.
        anyway: Show it without an attempt.
    """
    found = asked_for(exercise, "solution")
    if isinstance(found, Note):
        return found
    if not anyway and not Journal().attempted(found.name):
        return Note(
            "Try it first",
            found.name,
            "Write a version and check it; even a wrong one teaches more than one that you read. "
            f'`hint("{found.name}")` helps. To read the solution all the same: '
            f'`solution("{found.name}", anyway=True)`.',
        )
    place = exercise_places().get(found.name)
    if place is None:
        where = "the folder solutions/ of the course"
        return Note("The solution is not here", found.name, f"It is in {where}.")
    lines = [line for line in place.cell.splitlines() if not MARK.match(line)]
    return Note("One solution among several", found.name, "", "\n".join(lines).strip())


def progress(chapter: int | None = None) -> Overview:
    """Show which exercises are passed, in one chapter or in all.

    Raises:
        ValueError: The course has no exercises in that chapter.
    """
    chosen = [e for e in all_exercises() if chapter is None or e.chapter == chapter]
    if not chosen:
        known = sorted({e.chapter for e in all_exercises()})
        raise PlainValueError(f"chapter must be one of {known}, got {chapter}")
    journal, places = Journal(), exercise_places()
    states = journal.states()
    further = {name for name, place in places.items() if place.further}
    return Overview(
        tuple(
            Row(
                e.chapter, e.name, states.get(e.name, "not attempted"), e.minutes, e.name in further
            )
            for e in chosen
        ),
        calibration(journal.events(), {e.chapter for e in chosen}),
    )


def review(most: int = 3) -> Note:
    """Propose exercises to write again, from memory, and guesses to give again, the worst first.

    An exercise comes back 2, 7, 21 and 60 days after you passed it, what you wrote then is not
    shown; a guess as long after you gave it, until one is close.
    """
    if most < 1:
        raise PlainValueError(f"most must be at least 1, got {most}")
    events, now = list(Journal().events()), time.time()
    known = {one.name: one for one in all_exercises()}
    found = [one for one in due(events, now) if one.exercise in known]
    guesses = due_guesses(events, now)
    if not found and not guesses:
        days = ", ".join(map(str, DAYS[:-1]))
        text = (
            f"An exercise comes back {days} and {DAYS[-1]} days after you passed it, "
            "a guess that was not close as long after you gave it."
        )
        return Note("Nothing to write again today", "", text)
    chosen = [(one, known[one.exercise]) for one in found[:most]]
    rows = [
        f"`{one.exercise}` (chapter {asked.chapter:02d}), passed {one.days} days ago"
        + (f", after {one.tries} that did not pass" if one.tries else "")
        + (f": {', '.join(one.mistakes)}" if one.mistakes else "")
        for one, asked in chosen
    ]
    rows += ["Write them in a new cell, without a look at the old one:"] * bool(rows)
    stubs = [
        f"# {asked.asks}\ndef {asked.signature}:\n    raise NotImplementedError\n\n"
        f'check("{asked.name}", {asked.name})'
        for _, asked in chosen
    ]
    again = [
        f'`guess("{one.name}")`, given {ago} days ago, was off by {one.off:.0%} of the scale: '
        f"{known_guesses()[one.name].question.posed(1).asks}"
        for one, ago in guesses[:most]
    ]
    rows += ["Guess again, each in a cell of its own:"] * bool(again) + again
    counts = [
        f"{len(some[:most])} of {len(some)} to {do} again"
        for some, do in ((found, "write"), (guesses, "guess"))
        if some
    ]
    return Note(", ".join(counts), "", "\n".join(rows), "\n\n".join(stubs))


def mine(exercise: str | None = None) -> Note:
    """Show which of your answers are kept, and where; or your answer to one exercise.

    Each is a separate file that you can open, change and import. `yours` runs them.
    """
    if exercise is not None:
        found = asked_for(exercise, "mine")
        if isinstance(found, Note):
            return found
        path = kept.kept_path(found.name)
        if not path.is_file():
            text = "It is kept as soon as it passes its check."
            return Note("No answer is kept yet", exercise, text)
        code = f"# {path}\n{path.read_text(encoding='utf-8')}"
        return Note("Your answer", exercise, _copies(exercise), code)
    names = [name for name in places() if kept.kept_path(name).is_file()]
    if not names:
        text = f"Each answer that passes its check is kept as a file in {kept.folder()}."
        return Note("No answer is kept yet", "", text)
    width = max(map(len, names))
    rows = [
        f"{name:<{width}}  {kept.kept_path(name).name}  {_copies(name)}".rstrip() for name in names
    ]
    title = f"{len(names)} of your answers {'is' if len(names) == 1 else 'are'} kept"
    return Note(title, "", "", "\n".join([f"In {kept.folder()}:", *rows]))


def _copies(exercise: str) -> str:
    older = [path.name for path in kept.older_paths(exercise)]
    return f"Earlier: {', '.join(older)}" if older else ""
