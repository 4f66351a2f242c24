"""Copies are made, renewed while nobody edited them, and kept as soon as somebody did."""

import json
import subprocess
from pathlib import Path

import nbformat
import pytest

from course_utils.environment import ROOT
from tools.work_copies import renew

NAME = "03_x.ipynb"


def write(path: Path, *texts: str) -> None:
    path.parent.mkdir(exist_ok=True)
    cells = [nbformat.v4.new_code_cell(text, id=f"c{n}") for n, text in enumerate(texts)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def change(path: Path, text: str = "", output: str = "") -> None:
    """Do what JupyterLab does when a cell is edited or run, and saved."""
    notebook = nbformat.read(path, 4)
    notebook.cells[0].source = text or notebook.cells[0].source
    notebook.cells[0].outputs = [nbformat.v4.new_output("stream", text=output)] if output else []
    notebook.metadata["widgets"] = {}
    nbformat.write(notebook, path)


def texts(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, 4).cells]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    write(tmp_path / "notebooks" / NAME, "a", "b\nc")
    assert renew(tmp_path) == []
    return tmp_path


def test_a_copy_is_made_and_the_course_stays_as_it_is(course: Path) -> None:
    before = (course / "notebooks" / NAME).read_bytes()
    assert texts(course / "work" / NAME) == ["a", "b\nc"]
    assert renew(course) == []
    assert (course / "notebooks" / NAME).read_bytes() == before
    nbformat.validate(nbformat.read(course / "work" / NAME, 4))
    assert [path.name for path in (course / "work").iterdir()] == [NAME]


@pytest.mark.parametrize("output", ["", "shown"])
def test_a_copy_that_was_opened_or_run_is_renewed(course: Path, output: str) -> None:
    change(course / "work" / NAME, output=output)
    kept = (course / "work" / NAME).read_bytes()
    assert renew(course) == []
    assert (course / "work" / NAME).read_bytes() == kept, "the chapter is the same"
    write(course / "notebooks" / NAME, "new")
    assert renew(course) == []
    assert texts(course / "work" / NAME) == ["new"]


def test_a_copy_that_was_edited_is_kept_and_a_changed_chapter_is_said(course: Path) -> None:
    change(course / "work" / NAME, "mine")
    assert renew(course) == []
    kept = (course / "work" / NAME).read_bytes()
    write(course / "notebooks" / NAME, "new")
    (told,) = renew(course)
    assert told.startswith("03_x has changed since you edited work/03_x.ipynb, which stays")
    assert "give yours another name" in told
    assert (course / "work" / NAME).read_bytes() == kept
    (course / "work" / NAME).rename(course / "work" / "my 03.ipynb")
    assert renew(course) == []
    assert texts(course / "work" / NAME) == ["new"]
    assert texts(course / "work" / "my 03.ipynb") == ["mine", "b\nc"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cells": 3, "metadata": {}}', "torn {"])
def test_a_file_that_is_no_copy_is_left_alone(course: Path, text: str) -> None:
    (course / "work" / NAME).write_text(text, encoding="utf-8")
    assert len(renew(course)) == 1
    assert (course / "work" / NAME).read_text(encoding="utf-8") == text


def test_a_copy_of_each_notebook_of_the_course_differs_by_its_mark_alone(tmp_path: Path) -> None:
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    renew(tmp_path)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        copy = json.loads((tmp_path / "work" / path.name).read_text(encoding="utf-8"))
        copy["metadata"].pop("attention_course_cells")
        assert copy == json.loads(path.read_text(encoding="utf-8"))


def test_git_ignores_the_copies() -> None:
    done = subprocess.run(["git", "check-ignore", "-q", "work/03_x.ipynb"], cwd=ROOT)
    assert done.returncode in (0, 128)  # 128: not a checkout
