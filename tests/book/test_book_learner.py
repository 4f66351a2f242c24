"""Test what a learner's page shows: the stored outputs, and each check as it is before any work."""

from functools import cache

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book import learner
from tests.book.book_support import ROOT

CHAPTERS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))[1:]  # not 00


@cache
def shown(name: str) -> nbformat.NotebookNode:
    both = (nbformat.read(ROOT / folder / name, 4) for folder in ("notebooks", "solutions"))
    return learner.with_outputs(*both)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_check_of_an_exercise_is_shown_as_not_attempted(name: str) -> None:
    page = shown(name)
    checks = [c for c in page.cells if c.cell_type == "code" and c.source.startswith("check(")]
    assert checks
    for cell in checks:
        assert "Not attempted yet" in cell.outputs[0]["data"]["text/plain"], cell.source


@pytest.mark.parametrize("name", CHAPTERS)
def test_all_other_outputs_are_the_stored_ones(name: str) -> None:
    solved = nbformat.read(ROOT / "solutions" / name, 4)
    stored = {c.id: c.outputs for c in solved.cells if c.cell_type == "code"}
    for cell in shown(name).cells:
        if cell.cell_type == "code" and "nbgrader" not in cell.metadata:
            kinds = [output.output_type for output in cell.outputs]
            assert kinds == [output.output_type for output in stored[cell.id]]


@pytest.mark.parametrize("name", CHAPTERS)
def test_an_experiment_is_shown_with_the_course_s_parts(name: str) -> None:
    notes = [
        str(output["data"].get("text/plain"))
        for cell in shown(name).cells
        if "yours(" in cell.source or ".run(" in cell.source
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    told = "\n".join(notes)
    assert "parts alone" in told or "All parts are the course's" in told
    assert "parts are yours" not in told


def test_a_cell_is_never_given_the_outputs_of_other_code() -> None:
    out = new_output("stream", text="2")
    solved = new_notebook(cells=[new_code_cell("1 + 1", execution_count=1, outputs=[out])])
    with pytest.raises(ValueError, match=r"is the cell `1 \+ 2`: run `make notebooks`"):
        learner.with_outputs(new_notebook(cells=[new_code_cell("1 + 2")]), solved)


def test_a_cell_that_was_never_run_has_no_outputs_to_show() -> None:
    solved = new_notebook(cells=[new_code_cell("1 + 1", id="a")])
    with pytest.raises(ValueError, match="no executed cell"):
        learner.with_outputs(new_notebook(cells=[new_code_cell("1 + 1", id="a")]), solved)


def test_the_notebooks_themselves_are_left_as_they_are() -> None:
    solved = new_notebook(
        cells=[
            new_code_cell(
                "1 + 1",
                id="a",
                execution_count=7,
                outputs=[new_output("execute_result", {"text/plain": "2"}, execution_count=7)],
            )
        ]
    )
    untouched = new_notebook(cells=[new_code_cell("1 + 1", id="a")])
    page = learner.with_outputs(untouched, solved)
    assert page.cells[0].outputs[0].execution_count == 1
    assert untouched.cells[0].outputs == []
    assert solved.cells[0].outputs[0].execution_count == 7
