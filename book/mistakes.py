"""The table of mistakes: every wrong version that the exercises ship, by chapter and exercise.

That each is refused as the mistake that it is, and as no other, is not shown here but tested
(`tests/laws/test_exercises.py`).
"""

from collections.abc import Iterable
from html import escape
from typing import Any

from book.blocks import code_words, folded, table, wrong_lines


def markdown(titles: dict[str, str], edition: str) -> str:
    """Return the page's part: a section for each chapter, a folded table for each exercise.

    Args:
        titles: What each chapter is called, by number.
        edition: The instructor's shows the wrong lines, too.
    """
    from course_utils.exercises import all_exercises

    chapters = {
        number: [e for e in all_exercises() if f"{e.chapter:02}" == number] for number in titles
    }
    every = [exercise for own in chapters.values() for exercise in own]
    parts = [f"{len(every)} exercises, {_counted(every)}."]
    for number, own in chapters.items():
        if own:
            parts += [f"## {titles[number]}", f"{_counted(own)}."]
            parts += [_folded(exercise, edition) for exercise in own]
    return "\n\n".join(parts)


def counts(exercises: Iterable[Any]) -> tuple[int, int]:
    """Return how many mistakes exercises know by name, and in how many versions."""
    mistakes = [mistake for exercise in exercises for mistake in exercise.mistakes]
    return len(mistakes), sum(len(mistake.versions) for mistake in mistakes)


def _counted(exercises: list[Any]) -> str:
    mistakes, versions = counts(exercises)
    return f"{mistakes:,} mistakes in {versions:,} versions"


def _folded(exercise: Any, edition: str) -> str:
    cells = [
        (
            code_words(mistake.name) + (wrong_lines(mistake) if edition == "instructor" else ""),
            str(len(mistake.versions)),
        )
        for mistake in exercise.mistakes
    ]
    name = f"<code>{escape(exercise.name)}</code>"
    return folded(
        f"{name}: {len(exercise.mistakes)} mistakes", table(("Mistake", "Versions"), cells)
    )
