"""A learner's page: the learner's notebook, with the outputs that a run of it shows.

The solutions notebook holds the outputs, in cells of the same id; the tests compare them with fresh
runs. Only an exercise, which is a stub here and prints nothing, its check, and the note that says
whose parts an experiment ran with have other outputs.
"""

import re
from typing import Any, NoReturn

import nbformat
from nbformat import NotebookNode

_PART = re.compile(r"(?m)^(\w+) +(?:yours|the course's)$")


def with_outputs(learner: NotebookNode, solved: NotebookNode) -> NotebookNode:
    """Return the learner's notebook as it looks when all of it has been run, untouched.

    Args:
        learner: The notebook with stubs and no outputs.
        solved: The same chapter with solutions, executed.

    Raises:
        ValueError: A cell has no twin with outputs, so the two were not built together.
    """
    twins = {cell.id: cell for cell in solved.cells if cell.get("execution_count") is not None}
    shown: NotebookNode = nbformat.from_dict(learner)
    for count, cell in enumerate((c for c in shown.cells if c.cell_type == "code"), start=1):
        if cell.id not in twins:
            first = (cell.source.strip().splitlines() or ["(empty)"])[0]
            raise ValueError(
                f"no executed cell of its solutions is the cell `{first}`: run `make notebooks`"
            )
        kind, _, exercise = cell.metadata.get("nbgrader", {}).get("grade_id", "").rpartition("-")
        outputs = twins[cell.id].outputs
        if exercise:
            outputs = [_verdict(exercise)] if kind == "check" else []
        cell.outputs = [_numbered(_untouched(output), count) for output in outputs]
        cell.execution_count = count
    shown.metadata.update({k: v for k, v in solved.metadata.items() if k == "widgets"})
    return shown


def _untouched(output: NotebookNode) -> NotebookNode:
    """Return what an output is where no exercise is passed yet: all parts are the course's."""
    told = str(output.get("data", {}).get("text/plain", ""))
    names = _PART.findall(told)
    if not names:
        return output
    from course_utils.answers.chosen import Chosen
    from course_utils.answers.parts import Parts
    from course_utils.answers.trial import Run
    from course_utils.exercises import find

    chosen = Chosen({name: find(name).reference for name in names}, {}, {})
    note = Run(chosen, None, None) if told.startswith("Yours: ") else Parts(chosen)
    data = {"text/plain": repr(note), "text/html": note._repr_html_()}
    return nbformat.from_dict({**output, "data": data})


def _verdict(exercise: str) -> NotebookNode:
    """Return what the check of a stub shows."""
    from course_utils.checking.judge import judge
    from course_utils.exercises import find

    def stub(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError

    report = judge(find(exercise), stub)
    data = {"text/plain": repr(report), "text/html": report._repr_html_()}
    return nbformat.v4.new_output("execute_result", data, execution_count=0)


def _numbered(output: NotebookNode, count: int) -> NotebookNode:
    numbered = {"execution_count": count} if "execution_count" in output else {}
    return nbformat.from_dict({**output, **numbered})
