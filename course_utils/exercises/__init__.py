"""The exercises of the course: data only, one module a chapter, each with a tuple EXERCISES."""

import difflib
import functools
import importlib
import pkgutil

from course_utils.checking.exercise import Exercise


@functools.cache
def all_exercises() -> tuple[Exercise, ...]:
    """Return every exercise, by chapter and then in the order of teaching."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("ch"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(exercise for module in modules for exercise in module.EXERCISES)


def find(name: str) -> Exercise:
    """Return the exercise of that name.

    Raises:
        KeyError: There is none; the message lists the names that come near.
    """
    by_name = {exercise.name: exercise for exercise in all_exercises()}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(str(name), by_name, n=3, cutoff=0.4) or sorted(by_name)
    raise KeyError(f"no exercise is called {name!r}; there is {', '.join(near)}")
