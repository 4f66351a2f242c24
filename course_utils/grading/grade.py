"""Grade a submitted notebook: each exercise in its own processes, which the answer cannot leave.

An answer is judged twice. First inside its process, where cost and method can be seen. What passes
there is called once more from outside, in another process in which the course's own solution does
not work, and the values are compared here, where no line of the submission runs.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course_utils.checking.exercise import Exercise
from course_utils.checking.judge import judge
from course_utils.checking.report import STATUSES, Report
from course_utils.exercises import find
from course_utils.grading.remote import LostError, RemoteAnswer
from course_utils.grading.submission import slice_for

SECONDS = 60


def grade(exercise: str, cells: Sequence[str], seconds: int = SECONDS) -> Report:
    """Return the verdict on an exercise in a notebook, whatever the notebook holds.

    Args:
        exercise: The exercise's name.
        cells: The text of the notebook's code cells, in order.
        seconds: How long an answer may take in each of its two processes; the code around
            it may take as long, and at most `remote.LOADING`.

    Raises:
        KeyError: No exercise has that name.
    """
    found = find(exercise)
    source = slice_for(exercise, cells)
    if source is None:
        return Report(exercise, "not_attempted", f"No cell defines `{exercise}`.")
    report = _inside(found, source, seconds)
    if not report.passed or not found.callable_apart:
        return report
    return _outside(found, source, seconds) or report


def _inside(exercise: Exercise, source: str, seconds: int) -> Report:
    try:
        with RemoteAnswer(exercise.name, source, seconds) as answer:
            said = answer.request("judge")
        return _report(exercise.name, said)
    except LostError:
        return _lost(exercise)
    except Exception as error:
        says = f"The cell could not be run: {type(error).__name__}: {error}"
        return Report(exercise.name, "crashed", says)


def _outside(exercise: Exercise, source: str, seconds: int) -> Report | None:
    """Return what is wrong with the values seen from outside, or None."""
    bare = replace(exercise, costs=(), mistakes=())
    try:
        with RemoteAnswer(exercise.name, source, seconds, apart=True) as answer:
            report = judge(bare, answer)
    except Exception:
        return _lost(exercise)
    return None if report.passed else report


def _lost(exercise: Exercise) -> Report:
    return Report(
        exercise.name,
        "crashed",
        "The process in which the function ran has ended before it returned: it left Python, "
        "took more memory or time than there is, or broke its connection.",
    )


def _report(name: str, said: dict[str, Any]) -> Report:
    """Return what the process says about the answer, whatever else it says."""
    status = str(said["status"])
    case, note = (str(said[key]) if said[key] else None for key in ("case", "note"))
    named = tuple(map(str, said["misconceptions"]))
    kind = status if status in STATUSES else "crashed"
    return Report(name, kind, str(said["says"]), named, case, note)
