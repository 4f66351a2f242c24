"""Judge an answer that passed as a grader would: it takes no more than it from a notebook."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from course_utils.checking.errors import brief
from course_utils.checking.exercise import Exercise
from course_utils.checking.guard import call
from course_utils.checking.judge import judge
from course_utils.grading.submission import slice_for


def graded_otherwise(exercise: Exercise) -> str | None:
    """Return a sentence if the notebook that is running would not pass when it is graded.

    The cells are those run so far, in their order; the function has passed its check here.
    """
    cells = _cells()
    if not cells:
        return None
    source = slice_for(exercise.name, cells)
    if source is None:
        return f"A grader would not find it: no cell defines `{exercise.name}` by name."
    module = ModuleType("submitted")
    loaded = call(lambda: exec(compile(source, "<submitted>", "exec"), vars(module)), ())
    if loaded.kind != "returned":
        problem = brief(loaded.error)
    else:
        bare = replace(exercise, mistakes=(), costs=())
        report = judge(bare, vars(module).get(exercise.name))
        if report.passed:
            return None
        problem = report.says.split("\n")[0]
    return (
        "A grader would not pass it. It runs your function with the imports, definitions and "
        f"tables that it names, and nothing else of the notebook, and sees: {problem}"
    )


def _cells() -> Sequence[str]:
    """Return the cells that were run in this notebook; none outside of one, or if none are kept."""
    interactive = sys.modules.get("IPython")
    shell: Any = interactive.get_ipython() if interactive else None
    manager = getattr(shell, "history_manager", None)
    return [] if manager is None else [cell for cell in manager.input_hist_raw if cell.strip()]
