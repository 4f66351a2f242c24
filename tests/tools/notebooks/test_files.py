"""Test what a check says of notebooks that are not what their source gives."""

import nbformat
import pytest

from tests.tools.small_course import SMALL, Course
from tools.notebooks.outputs import STATE, normalise


@pytest.mark.parametrize(
    ("old", "new", "cell"),
    [
        ("return by * x", "return x * by", "solutions/03_small.ipynb: stale, cell 3 (`def twice("),
        ("# # Double", "# # Triple", "notebooks/03_small.ipynb: stale, cell 1 (`# Triple a"),
        ('"""Double x."""', '"""Twice."""', "notebooks/03_small.ipynb: stale, cell 3 (`def tw"),
        ('tags=["solution"]', 'tags=["x"]', "notebooks/03_small.ipynb: stale, cell 5 (`print("),
    ],
)
def test_check_names_the_cell_that_is_stale(built: Course, old: str, new: str, cell: str) -> None:
    built.write(SMALL.replace(old, new))
    result = built.build("--check")
    assert result.status == 1
    assert cell in result.err
    assert "run `python -m tools.build_notebooks 03_small`" in result.err


def test_check_names_what_is_missing_or_stray(built: Course) -> None:
    built.path("notebooks").rename(built.path("notebooks", "12_other"))
    built.write(SMALL, "no_number")
    err = built.build("--check").err
    assert "notebooks/03_small.ipynb: missing" in err
    assert "notebooks/12_other.ipynb: there is no solutions/12_other.py" in err
    assert "solutions/no_number.py: a source must be named NN_topic.py" in err


def error_output() -> nbformat.NotebookNode:
    return nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"execution_count": None}, 'cell 5 (`print("twice", twice(21))`) was never executed'),
        ({"outputs": [error_output()]}, 'cell 5 (`print("twice", twice(21))`) holds an error'),
        (
            {"outputs": [nbformat.v4.new_output("stream", text="/tmp/ipykernel_12/3.py:1: oh")]},
            "prints a path of the machine",
        ),
    ],
)
def test_check_names_outputs_that_cannot_stay_and_a_build_mends_them(
    built: Course, change: dict[str, object], says: str
) -> None:
    built.edit("solutions", lambda notebook: notebook.cells[4].update(change))
    assert says in built.build("--check").err
    assert "executing" in built.build().out
    assert built.build("--check").status == 0


def test_a_solution_that_does_not_pass_is_named(built: Course) -> None:
    wrong = nbformat.v4.new_output("execute_result", {"text/plain": "twice: Crashed"})
    built.edit("solutions", lambda notebook: notebook.cells[3].update(outputs=[wrong]))
    assert "does not say that the solution passed: ['twice: Crashed']" in built.build("--check").err


def test_work_of_a_learner_is_not_overwritten(built: Course) -> None:
    built.edit("notebooks", lambda notebook: notebook.cells[1].update(execution_count=1))
    worked = built.path("notebooks").read_bytes()
    assert "cell 2 (`def check(name, answer):`) was executed" in built.build("--check").err
    result = built.build()
    assert result.status == 1
    assert "--overwrite" in result.err
    assert built.path("notebooks").read_bytes() == worked
    assert built.build("--overwrite").status == 0
    assert built.build("--check").status == 0


ASSETS = """
def module(name):
    return f"module {name}"


def style(name):
    return f"style {name}"
"""


@pytest.mark.parametrize(
    ("changed", "status"), [({}, 0), ({"_esm": "older"}, 1), ({"_css": "older"}, 1)]
)
def test_check_sees_that_a_stored_widget_is_older_than_its_source(
    built: Course, changed: dict[str, str], status: int
) -> None:
    assets = built.root / "course_utils" / "widgets" / "assets.py"
    assets.parent.mkdir(parents=True)
    assets.write_text(ASSETS)
    state = {
        "_anywidget_id": "course_utils.widgets.heatmap.Heatmap",
        "_esm": "module heatmap/heatmap.js",
        "_css": "style heatmap/heatmap.css",
    } | changed
    models = {"state": {"0": {"model_name": "AnyModel", "state": state}}}
    built.edit("solutions", lambda notebook: notebook.metadata.update(widgets={STATE: models}))
    result = built.build("--check")
    assert result.status == status
    assert ("code stored of the widget heatmap" in result.err) == bool(status)


def test_a_temporary_folder_is_no_part_of_an_output() -> None:
    said = "# /tmp/tmpa1b2c3_4/answers/one.py, not /tmpfile/"
    output = nbformat.v4.new_output("display_data", {"text/plain": said})
    cell = nbformat.v4.new_code_cell("1", outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[cell])
    normalise(notebook, "seed")
    assert cell.outputs[0].data["text/plain"] == "# …/answers/one.py, not /tmpfile/"
