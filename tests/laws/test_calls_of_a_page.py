"""The calls that a page names can be made there, and none fails."""

import ast
import re
from pathlib import Path
from symtable import symtable
from typing import Any

import pytest

import course_utils
from course_utils import learner
from course_utils.environment import ROOT
from course_utils.exercises import all_exercises
from course_utils.sources import source_paths
from tools.notebooks.source import Chapter, read_chapter

CALLS = re.compile(rf"`((?:{'|'.join(course_utils.__all__)})\([^`]*\))`")
CHAPTERS = {path.stem: path for path in source_paths()}
PAGES = (ROOT / "README.md", *sorted((ROOT / "book").glob("*.md")))
TALKS = "chat"  # asks for lines that nobody types here
IMPORTS = (ast.Import, ast.ImportFrom)


def prose_of(chapter: Chapter) -> str:
    return "\n".join(cell.source for cell in chapter.cells if cell.kind == "markdown")


def imported(chapter: Chapter) -> dict[str, Any]:
    """Return the names that a chapter's imports bring."""
    found: dict[str, Any] = {}
    for cell in chapter.cells:
        if cell.kind == "code":
            body = [one for one in ast.parse(cell.source).body if isinstance(one, IMPORTS)]
            exec(compile(ast.Module(body, []), chapter.name, "exec"), found)
    return found


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.chdir(tmp_path)


def run_calls(prose: str, names: dict[str, Any]) -> int:
    """Run every call that a text names; a function that it passes on is the exercise's own."""
    calls = CALLS.findall(prose)
    exercises = {exercise.name: exercise.reference for exercise in all_exercises()}
    for call in calls:
        name = call.partition("(")[0]
        assert names.get(name) is getattr(course_utils, name), f"{call}: {name} is not there"
        if name != TALKS:
            eval(call, exercises | names)
    return len(calls)


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_brings_all_calls_of_a_learner(page: str) -> None:
    chapter = read_chapter(CHAPTERS[page])
    names = imported(chapter)
    assert [one for one in learner.__all__ if names.get(one) is not getattr(learner, one)] == []
    run_calls(prose_of(chapter), names)


@pytest.mark.parametrize("page", CHAPTERS)
def test_no_cell_gives_the_name_of_a_call_to_something_else(page: str) -> None:
    shadowed = []
    for cell in read_chapter(CHAPTERS[page]).cells:
        if cell.kind == "code":
            symbols = symtable(cell.source, page, "exec").get_symbols()
            own = {one.get_name() for one in symbols if one.is_assigned() and not one.is_imported()}
            shadowed += own.intersection(learner.__all__)
    assert shadowed == []


def test_pages_of_the_book_name_calls_that_a_chapter_brings() -> None:
    names = imported(read_chapter(CHAPTERS["19_released_model"]))
    assert sum(run_calls(path.read_text(encoding="utf-8"), names) for path in PAGES) > 5


@pytest.mark.parametrize("page", [name for name in CHAPTERS if name[:2] != "00"])
def test_a_chapter_ends_with_its_progress_and_what_is_next(page: str) -> None:
    cells = read_chapter(CHAPTERS[page]).cells
    (end,) = (at for at, cell in enumerate(cells) if cell.source == f"progress({int(page[:2])})")
    assert cells[end + 1].kind == "markdown"
    assert all(cell.kind == "markdown" for cell in cells[end + 1 :])
