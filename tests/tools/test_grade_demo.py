"""An assignment goes out, comes back, is graded, and every submission gets what it deserves."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tools.grade_demo import CHAPTER, MISTAKES, Course, DemoError, answers_of, main

pytestmark = pytest.mark.thorough  # nbgrader starts a process for every step


def without_checks(cells: list[Any]) -> None:
    cells[:] = [cell for cell in cells if not cell.metadata.get("nbgrader", {}).get("grade")]


def with_better_checks(cells: list[Any]) -> None:
    for cell in cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.source = "1000"
            cell.metadata.nbgrader["points"] = 1000
            cell.outputs = []


def with_every_cell_twice(cells: list[Any]) -> None:
    cells += [type(cell)({**cell, "id": f"again{i}"}) for i, cell in enumerate(cells)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str]:
    """The demo's folder after it has run, its exit status, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.redirect_stdout(io.StringIO()) as told:
        status = main(["--folder", str(folder)])
    return folder, status, told.getvalue()


def test_the_demo_gives_the_points_it_expects(demo: tuple[Path, int, str]) -> None:
    _, status, told = demo
    assert status == 0
    assert "two-mistakes    7 (expected 7): split_heads 0, merge_heads 2" in told
    assert "Feedback pages: 3" in told


def test_notebooks_changed_by_hand_earn_what_their_answers_deserve(
    demo: tuple[Path, int, str],
) -> None:
    course, answers = Course(demo[0], CHAPTER), answers_of(CHAPTER)
    course.submit("better-checks", MISTAKES, with_better_checks)
    course.submit("no-checks", MISTAKES, without_checks)
    course.submit("all-twice", answers | MISTAKES, with_every_cell_twice)
    course.submit("no-notebook", answers)
    broken = course.folder / "submitted" / "no-notebook" / CHAPTER / f"{CHAPTER}.ipynb"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(DemoError, match="no-notebook"):
        course.run("autograde", CHAPTER)
    points = {student: sum(each.values()) for student, each in course.points().items()}
    assert points.pop("no-notebook", 0) == 0
    first = {"untouched": 0, "right": 10, "two-mistakes": 7}
    assert points == first | {"better-checks": 0, "no-checks": 0, "all-twice": 7}


def test_a_folder_with_something_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit):
        main(["--folder", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
