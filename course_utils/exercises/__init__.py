"""The exercises of the course: one folder a chapter, one file an exercise, `shared` for all.

Each file holds an EXERCISE. The order of teaching is that of the chapters' sources.
"""

import difflib
import functools
import importlib
import re
from pathlib import Path

from course_utils.checking.exercise import Exercise

_HERE = Path(__file__).resolve().parent
# In the repository beside the package; in an installed package inside it.
_SOLUTIONS = (_HERE.parents[1] / "solutions", _HERE.parent / "solutions")


def sources() -> list[Path]:
    """Return the chapters' sources, in the order of teaching; none where they are not there."""
    return [path for folder in _SOLUTIONS for path in sorted(folder.glob("[0-9][0-9]_*.py"))]


@functools.cache
def places() -> dict[str, str]:
    """Return the module of every exercise by name, in the order of teaching."""
    found = {
        path.stem: f"{__name__}.{path.parent.name}.{path.stem}"
        for path in sorted(_HERE.glob("ch[0-9][0-9]_*/*.py"))
        if path.stem != "__init__"
    }
    text = "".join(path.read_text(encoding="utf-8") for path in sources())
    taught = re.findall(r'(?m)^# %%.* exercise="(\w+)"', text)
    return {name: found[name] for name in dict.fromkeys((*taught, *found)) if name in found}


@functools.cache
def all_exercises() -> tuple[Exercise, ...]:
    """Return every exercise, by chapter and then in the order of teaching."""
    return tuple(sorted(map(find, places()), key=lambda exercise: exercise.chapter))


def find(name: str) -> Exercise:
    """Return the exercise of that name.

    Raises:
        KeyError: There is none; the message lists the names that come near.
    """
    if name in places():
        found: Exercise = importlib.import_module(places()[name]).EXERCISE
        return found
    near = difflib.get_close_matches(str(name), places(), n=3)
    near = near or [one for one in places() if str(name) and str(name) in one]
    there = f"there is {', '.join(near)}" if near else "progress() lists them all"
    raise KeyError(f"no exercise is called {name!r}; {there}")
