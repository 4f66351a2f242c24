"""A learner's page: the learner's notebook, with the outputs that a run of it shows.

The chapter's solutions notebook holds outputs of the same cells, and the tests compare them with
fresh runs. Only two kinds of cells differ between the two notebooks: exercises, which are stubs
here and print nothing, and the checks of them, which are run when the page is made.
"""

import ast
from typing import Any

import nbformat
from nbformat import NotebookNode


def with_outputs(learner: NotebookNode, solved: NotebookNode) -> NotebookNode:
    """Return the learner's notebook as it looks when all of it has been run, untouched.

    Args:
        learner: The notebook with stubs and no outputs.
        solved: The same chapter with solutions, executed.

    Raises:
        ValueError: A cell has no twin with outputs, so the two were not built together.
    """
    twins = [cell for cell in solved.cells if cell.cell_type == "code"]
    names: dict[str, Any] = {}
    shown: NotebookNode = nbformat.from_dict(learner)
    for count, cell in enumerate((c for c in shown.cells if c.cell_type == "code"), start=1):
        cell.execution_count = count
        if _is_stub(cell.source, twins):
            exec(compile(cell.source, "exercise", "exec"), names)
            continue
        twin = _take_twin(twins, cell.source)
        cell.outputs = [_numbered(output, count) for output in twin.outputs]
        checked = _checked(cell.source)
        if checked in names:
            cell.outputs = [_result(_verdict(checked, names[checked]), count)]
    shown.metadata.update({k: v for k, v in solved.metadata.items() if k == "widgets"})
    return shown


def _is_stub(source: str, twins: list[NotebookNode]) -> bool:
    """Say whether the cell is an exercise that waits to be written."""
    return "raise NotImplementedError" in source and all(twin.source != source for twin in twins)


def _take_twin(twins: list[NotebookNode], source: str) -> NotebookNode:
    """Remove and return the next solved cell with this source, and drop those before it."""
    while twins:
        twin = twins.pop(0)
        if twin.source == source and twin.get("execution_count") is not None:
            return twin
    first = (source.strip().splitlines() or ["(empty)"])[0]
    raise ValueError(
        f"no executed cell of its solutions is the cell `{first}`: run `make notebooks`"
    )


def _checked(source: str) -> str:
    """Return the exercise that a cell checks as the last thing it does, or an empty string."""
    last = (ast.parse(source).body or [ast.Pass()])[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return ""
    if call.func.id != "check" or not isinstance(call.args[0], ast.Constant):
        return ""
    return str(call.args[0].value)


def _verdict(exercise: str, answer: object) -> Any:
    from course_utils.checking.judge import judge
    from course_utils.exercises import find

    return judge(find(exercise), answer)


def _result(report: Any, count: int) -> NotebookNode:
    data = {"text/plain": repr(report), "text/html": report._repr_html_()}
    return nbformat.v4.new_output("execute_result", data, execution_count=count)


def _numbered(output: NotebookNode, count: int) -> NotebookNode:
    numbered = {"execution_count": count} if "execution_count" in output else {}
    return nbformat.from_dict({**output, **numbered})
