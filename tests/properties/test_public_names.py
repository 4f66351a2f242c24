"""Whatever the packages export stands in a table of the laws: nothing public is left out."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import anywidget
from entries import ENTRIES
from test_call_refusals import CALLS

import course_utils
from course_utils.attention import flash_triton

# The checkers and the grader take whatever a learner writes: tests/checking and tests/grading
# give them far worse than these tables hold.
JUDGES = ("course_utils.checking", "course_utils.grading", "course_utils.exercises")
FIGURES = ("course_utils.plotting", "course_utils.matrix_plotting")


def public() -> Iterator[Any]:
    """Yield every function and class that a package exports, those of figures, and the kernels."""
    yield flash_triton.flash_attention
    for found in pkgutil.walk_packages(course_utils.__path__, "course_utils."):
        if found.ispkg and not found.name.startswith(JUDGES):
            package = importlib.import_module(found.name)
            yield from (getattr(package, name) for name in package.__all__)
    for module in map(importlib.import_module, FIGURES):
        own = [one for one in vars(module).values() if inspect.isfunction(one)]
        yield from (one for one in own if one.__module__ == module.__name__)


def names(thing: Any) -> Iterator[str]:
    """Yield what can be called of a public thing: itself, and the methods that it adds."""
    if inspect.isfunction(thing):
        yield thing.__qualname__
    if not inspect.isclass(thing):
        return
    # Records keep what they are given, and a widget is made by the function beside it.
    record = dataclasses.is_dataclass(thing) or issubclass(thing, tuple | anywidget.AnyWidget)
    if "__init__" in vars(thing) and not record:
        yield thing.__qualname__
    for name, method in vars(thing).items():
        method = method.__func__ if isinstance(method, classmethod) else method
        if inspect.isfunction(method) and not name.startswith("_"):
            yield method.__qualname__


def test_every_public_name_is_in_a_table() -> None:
    tables = {entry.name for entry in ENTRIES} | {entry.name for entry in CALLS}
    missing = {name for thing in public() for name in names(thing)} - tables
    assert missing == {
        "Context.remember",  # an interface that only says what its kinds do
        "Context.forward",
    }


def test_every_entry_of_a_table_is_public() -> None:
    exported = {name for thing in public() for name in names(thing)}
    exported |= {"Pairs.__getitem__", "PowerLaw.__call__"}
    assert {entry.name for entry in (*ENTRIES, *CALLS)} <= exported
