"""The exercises of the course: one folder a chapter, one file an exercise, `shared` for all.

Each file holds an EXERCISE. The order of teaching is that of the chapters' sources.
"""

import difflib
import functools
import importlib
from pathlib import Path

from course_utils.checking.errors import PlainKeyError
from course_utils.checking.exercise import Exercise
from course_utils.checking.settings import judging
from course_utils.sources import exercise_places


@functools.cache
def places() -> dict[str, str]:
    """Return the module of every exercise by name, in the order of teaching."""
    found = {
        path.stem: f"{__name__}.{path.parent.name}.{path.stem}"
        for path in sorted(Path(__file__).parent.glob("ch[0-9][0-9]_*/*.py"))
        if path.stem != "__init__"
    }
    return {name: found[name] for name in {**exercise_places(), **found} if name in found}


@functools.cache
def all_exercises() -> tuple[Exercise, ...]:
    """Return every exercise, by chapter and then in the order of teaching."""
    return tuple(sorted(map(find, places()), key=lambda exercise: exercise.chapter))


def find(name: str) -> Exercise:
    """Return the exercise of that name.

    Raises:
        KeyError: There is none; the message lists the names that come near.
    """
    if isinstance(name, str) and name in places():
        with judging():  # what an exercise makes as it is loaded stays
            return importlib.import_module(places()[name]).EXERCISE
    near = difflib.get_close_matches(str(name), places(), n=3)
    near = near or [one for one in places() if len(str(name)) > 2 and str(name) in one][:3]
    there = f"there is {', '.join(near)}" if near else "progress() lists them all"
    raise PlainKeyError(f"no exercise is called {name!r}; {there}")
