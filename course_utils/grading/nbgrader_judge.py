"""A judge that nbgrader runs instead of a submitted notebook: the course's own judge, in a sandbox.

nbgrader's own step runs a whole submission in a kernel with the grader's rights and believes what
its cells say. This one runs no cell; it has each exercise judged by `course_utils.grading`, in a
separate process, and writes the verdict under the exercise's check, where nbgrader reads the points
and the feedback shows the words.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook  # type: ignore[import-untyped]
from nbgrader.preprocessors import NbGraderPreprocessor  # type: ignore[import-untyped]
from nbgrader.utils import is_grade  # type: ignore[import-untyped]

from course_utils.checking.report import Report

_CHECK = "check-"


class MendCells(NbGraderPreprocessor):  # type: ignore[misc]
    """Restores the metadata that a submitted notebook's cells were handed out with.

    nbgrader stops grading everyone when one notebook's metadata are not as it left them. What a
    learner deleted is put back afterwards, by `OverwriteCells.add_missing_cells`.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Repair the first cell of each name; all others lose the metadata they claim."""
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as book:
            handed_out = _handed_out(book.find_notebook(about["notebook"], about["assignment"]))
        for cell in nb.cells:
            claimed = cell.metadata.pop("nbgrader", None)
            name = str(claimed.get("grade_id")) if isinstance(claimed, dict) else ""
            known = handed_out.get(name)
            if known is not None and known.cell_type == cell.cell_type:
                cell.metadata["nbgrader"] = handed_out.pop(name)
        return nb, resources


def _handed_out(notebook: Any) -> dict[str, Any]:
    """Return the metadata of each nbgrader cell, by name."""
    points = {cell.name: cell.max_score for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name for cell in notebook.task_cells}
    return {
        cell.name: NotebookNode(
            schema_version=3,
            grade_id=cell.name,
            cell_type=cell.cell_type,
            locked=cell.locked,
            checksum=cell.checksum,
            grade=cell.name in points,
            solution=cell.name in solutions,
            task=cell.name in tasks,
            **({"points": points[cell.name]} if cell.name in points else {}),
        )
        for cell in notebook.source_cells
    }


class JudgeAnswers(NbGraderPreprocessor):  # type: ignore[misc]
    """Puts the verdict on each exercise under its check."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Judge every exercise whose check the notebook holds."""
        checks = {
            cell.metadata.nbgrader["grade_id"].removeprefix(_CHECK): cell
            for cell in nb.cells
            if is_grade(cell) and cell.metadata.nbgrader["grade_id"].startswith(_CHECK)
        }
        reports = _GRADER.judged(nb, list(checks)) if checks else {}
        for name, cell in checks.items():
            report = reports.get(name)
            if report is None:
                report = Report(name, "crashed", "The grader ended before it came to a verdict.")
            cell.outputs = [_output(report)]
            cell.execution_count = None
        return nb, resources


class Grader:
    """The process that judges: one for all notebooks, since it takes seconds to start.

    Args:
        command: What starts it, see `course_utils.grading.serve`.
    """

    def __init__(self, *command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def judged(self, notebook: Any, names: list[str]) -> dict[str, Report]:
        """Return the verdicts by exercise; if the process ends, those that it gave before."""
        reports = {}
        with contextlib.suppress(OSError):
            for report in self._ask(json.dumps({"notebook": notebook, "exercises": names})):
                reports[report.exercise] = report
        return reports

    def _ask(self, question: str) -> Iterator[Report]:
        # It is kept only after a complete answer: unread lines would grade the next notebook.
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        try:
            print(question, file=process.stdin, flush=True)
            for line in process.stdout or ():
                if line == "\n":
                    self._process = process
                    return
                yield Report(**json.loads(line))
        finally:
            if self._process is None:
                process.kill()
                process.communicate()


_GRADER = Grader(sys.executable, "-m", "course_utils.grading.serve")


def _output(report: Report) -> Any:
    if report.passed:
        data = {"text/html": report._repr_html_(), "text/plain": str(report)}
        return nbformat.v4.new_output("display_data", data=data)
    lines = str(report).split("\n")
    return nbformat.v4.new_output(
        "error", ename="NotPassed", evalue=report.headline, traceback=lines
    )
