"""The two notebooks of a chapter: what they hold and when they are made again."""

import json
import re

import nbformat
import pytest

from tests.tools.small_course import SMALL, Course

pytestmark = pytest.mark.thorough  # every test starts processes


def test_the_learner_finds_stubs_and_no_solution(built: Course) -> None:
    cells = built.cells("notebooks")
    assert "    # Multiply x by the factor\n    raise NotImplementedError" in cells[2].source
    assert len(cells) == 4
    assert "by * x" not in built.path("notebooks").read_text()
    assert all(not cell.get("outputs") for cell in cells)


def test_the_solutions_are_executed(built: Course) -> None:
    cells = built.cells("solutions")
    assert cells[4].outputs[0].text == "twice 42\n"
    assert [cell.execution_count for cell in cells[1:]] == [1, 2, 3, 4]


def test_nbgrader_finds_what_to_clear_what_to_lock_and_the_points(built: Course) -> None:
    for kind in ("notebooks", "solutions"):
        asked, checked = (cell.metadata.nbgrader for cell in built.cells(kind)[2:4])
        assert (asked.grade_id, asked.solution, asked.locked) == ("twice", True, False)
        assert (checked.grade_id, checked.grade, checked.locked) == ("check-twice", True, True)
        assert checked.points == len("twice")
    assert "### BEGIN SOLUTION" in built.cells("solutions")[2].source
    assert all("nbgrader" not in cell.metadata for cell in built.cells("solutions")[:2])


def test_notebooks_are_valid_and_name_no_version(built: Course) -> None:
    for kind in ("notebooks", "solutions"):
        notebook = nbformat.read(built.path(kind), as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.language_info == {"name": "python"}
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_a_cell_has_the_same_id_in_both_notebooks(built: Course) -> None:
    learner, solved = ([cell.id for cell in built.cells(k)] for k in ("notebooks", "solutions"))
    assert learner == solved[:4]
    assert built.cells("notebooks")[2].source != built.cells("solutions")[2].source


def test_building_again_changes_no_byte_and_executes_nothing(built: Course) -> None:
    before = {path: path.read_bytes() for path in built.root.rglob("*.ipynb")}
    result = built.build()
    assert "executing" not in result.out
    assert {path: path.read_bytes() for path in built.root.rglob("*.ipynb")} == before
    assert built.build("--check").status == 0


def test_executing_again_changes_no_byte(built: Course) -> None:
    before = built.path("solutions").read_bytes()
    assert "executing" in built.build("--execute").out
    assert built.path("solutions").read_bytes() == before


def test_prose_is_changed_without_executing_and_code_is_not(built: Course) -> None:
    ids = [cell.id for cell in built.cells("solutions")]
    built.write(SMALL.replace("# # Double", "# # Nearly double") + "\n# %% [markdown]\n# End.\n")
    assert "executing" not in built.build().out
    cells = built.cells("solutions")
    title, told = cells[0].source.split("\n\n")
    assert title == "# Nearly double a number"
    assert told == "*Difficulty 2/5 · importance 3/5 · 10 minutes*"
    assert cells[4].outputs[0].text == "twice 42\n"
    assert [cell.id for cell in cells][1:5] == ids[1:]
    built.write(SMALL.replace("21", "4"))
    assert "executing" in built.build().out
    assert built.cells("solutions")[4].outputs[0].text == "twice 8\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("last", "seconds", "line", "says"),
    [
        ("twice(None)", 60, 15, "cell 5 (`twice(None)`) raised TypeError: unsupported operand"),
        ("import time; time.sleep(999)", 10, 23, "time.sleep(999)`) did not end within 10 s"),
        ("import os; os._exit(1)", 60, 23, "ended the kernel"),
    ],
)
def test_a_cell_that_fails_is_named_and_nothing_is_written(
    course: Course, last: str, seconds: int, line: int, says: str
) -> None:
    course.write(SMALL.replace('print("twice", twice(21))', last))
    result = course.build("--timeout", str(seconds))
    assert result.status == 1
    assert says in result.err
    assert result.err.startswith(f"solutions/03_small.py:{line}: ")
    assert not list(course.root.rglob("*.ipynb"))


def test_a_warning_is_not_stored(course: Course) -> None:
    course.write("# %%\nimport warnings\n\nwarnings.warn('oh', stacklevel=1)\n")
    result = course.build()
    assert result.status == 1
    assert "cell 1 (`import warnings`) prints a path of the machine that ran it" in result.err
    assert "UserWarning: oh" in result.err
    assert not list(course.root.rglob("*.ipynb"))


def test_chapters_are_chosen_by_number_or_name(course: Course) -> None:
    course.write("# %% [markdown]\n# # One\n", "01_one")
    course.write("# %% [markdown]\n# # Two\n", "02_two")
    assert course.build("02").status == 0
    assert [path.name for path in course.root.glob("notebooks/*")] == ["02_two.ipynb"]
    assert course.build("solutions/01_one.py").status == 0
    with pytest.raises(SystemExit, match="2"):
        course.build("05")


WIDGETS = """# %%
import ipywidgets as widgets
from tqdm import tqdm

# %%
widgets.HBox([widgets.IntSlider(3), widgets.Output()])

# %%
for step in tqdm(range(3), desc="train"):
    print(step)

# %%
widgets.Label("x")
"""


@pytest.mark.thorough
def test_widgets_keep_their_state_under_names_that_never_change(course: Course) -> None:
    course.write(WIDGETS)
    course.build()
    first = course.path("solutions").read_text()
    course.build("--execute")
    assert course.path("solutions").read_text() == first
    notebook = json.loads(first)
    (models,) = notebook["metadata"]["widgets"].values()
    shown = re.findall(r'"model_id": "(\w+)"', first)
    inside = re.findall(r"IPY_MODEL_(\w+)", first)
    assert len(shown) == 2
    assert len(inside) > 4
    assert set(shown + inside) <= set(models["state"])
    bar = notebook["cells"][2]["outputs"][0]
    assert bar["text"] == ["train: 100%|██████████| 3/3\n"]
