"""A learner who solves every exercise in a way of their own, and runs every chapter's *Yours*.

The answers are those of tests/exercises/right_ways_*.py: right, and not the solutions. They go
through `check`, which keeps them, and from there into the chapters' experiments. Of a chapter only
the cells that its section *Yours* needs are run, found by the names that they set and use.
"""

import ast
import os
import symtable
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
import torch

from course_utils import check
from course_utils.exercises import all_exercises, sources
from course_utils.models import training
from course_utils.own import kept
from course_utils.own.trial import Run
from tests.exercises.right_ways import RIGHT_WAYS
from tools.notebook_source import read_chapter

STEPS = 20  # of a training; the weights need not be good ones
BROKEN = """

_right = {name}


def _changed(out):
    if isinstance(out, tuple):
        return (_changed(out[0]), *out[1:])
    if isinstance(out, torch.Tensor) and out.dtype == torch.bool:
        return ~out
    return out * 2 + 1


def {name}(*args, **kwargs):
    return _changed(_right(*args, **kwargs))
"""

pytestmark = pytest.mark.thorough


@cache
def chapters() -> dict[str, tuple[str, ...]]:
    """Return the code of each chapter that its section *Yours* needs."""
    return {path.stem[:2]: code for path in sources() if (code := tuple(_code(path)))}


def _code(path: Path) -> list[str]:
    before: list[str] = []
    wanted: list[str] = []
    heading = ""
    for cell in read_chapter(path).cells:
        if cell.kind == "markdown":
            heads = [line for line in cell.source.splitlines() if line.startswith("## ")]
            heading = heads[-1] if heads else heading
        elif cell.exercise is None and heading.startswith("## Yours"):
            wanted.append(cell.source)
        elif cell.exercise is None and not cell.source.startswith("check("):
            before.append(cell.source)
    needed = set().union(*map(_used, wanted)) if wanted else set()
    for source in reversed(before if wanted else []):
        if needed & _set(source):
            needed |= _used(source)
            wanted.insert(0, source)
    return wanted


def _set(source: str) -> set[str]:
    """Return the names that a cell sets, and those of things that it trains or changes."""
    table = symtable.symtable(source, "<cell>", "exec")
    names = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign):
            names |= {
                name.id
                for target in node.targets
                if isinstance(target, ast.Attribute | ast.Subscript)
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            }
        if isinstance(node, ast.Call) and "train" in ast.unparse(node.func):
            names |= {one.id for one in node.args if isinstance(one, ast.Name)}
    return names


def _used(source: str) -> set[str]:
    found: set[str] = set()
    tables = [symtable.symtable(source, "<cell>", "exec")]
    while tables:
        table = tables.pop()
        top = table.get_type() == "module"
        found |= {
            s.get_name()
            for s in table.get_symbols()
            if s.is_referenced() and (top or s.is_global())
        }
        tables += table.get_children()
    return found


def notes(code: tuple[str, ...], folder: Path) -> list[Run]:
    """Run a chapter's cells, to the first note that is not equal; return the notes of *Yours*."""
    space: dict[str, Any] = {"__name__": "__main__"}
    found: list[Run] = []
    here = Path.cwd()
    os.chdir(folder)
    try:
        for source in code:
            exec(compile(source, "<cell>", "exec"), space)
            found = [value for value in space.values() if isinstance(value, Run)]
            if found and not found[-1].equal:
                break
    finally:
        os.chdir(here)
    return found


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Pass all exercises, each in a way of one's own; return where that is kept."""
    path = tmp_path_factory.mktemp("learner") / "progress.jsonl"
    patch = pytest.MonkeyPatch()
    patch.setenv("ATTENTION_COURSE_PROGRESS", str(path))
    patch.setattr(training, "range", lambda steps: range(min(steps, STEPS)), raising=False)
    mpl.use("agg")
    torch.set_num_threads(1)
    yield path
    patch.undo()


@pytest.fixture(scope="module")
def solved(journal: Path) -> dict[str, str]:
    """Return what could not be kept of the first way that can, for each exercise."""
    return {exercise.name: _solved(exercise.name) for exercise in all_exercises()}


def _solved(name: str) -> str:
    said = "no right way is known"
    for way in RIGHT_WAYS.get(name, ()):
        report = check(name, way)
        assert report.passed, report
        said = report.note or ""
        if kept.kept_path(name).is_file():
            return ""
    return said


def test_every_exercise_is_kept(solved: dict[str, str]) -> None:
    assert {name: said for name, said in solved.items() if said} == {}


def test_chapters_have_the_section() -> None:
    assert len(chapters()) == len([path for path in sources() if path.stem[:2] != "00"])


@pytest.mark.parametrize("chapter", sorted(chapters()))
def test_the_chapter_s_experiment_gives_the_same_numbers(chapter, solved, tmp_path) -> None:
    found = notes(chapters()[chapter], tmp_path)
    assert found
    for note in found:
        assert note.equal, note
        assert note.chosen.own.keys() == note.chosen.references.keys(), note


@pytest.mark.parametrize("chapter", sorted(chapters()))
def test_one_broken_part_is_named(chapter, solved, tmp_path) -> None:
    code = chapters()[chapter]
    for name in asked(code):
        path = kept.kept_path(name)
        right = path.read_text(encoding="utf-8")
        path.write_text(right + BROKEN.format(name=name), encoding="utf-8")
        try:
            note = next(note for note in notes(code, tmp_path) if name in note.chosen.own)
        finally:
            path.write_text(right, encoding="utf-8")
        assert not note.equal, f"{name} may return anything: {note}"
        assert list(note.to_blame) == [name], note
        assert f"`{name}` is to blame" in str(note)


def asked(code: tuple[str, ...]) -> list[str]:
    """Return the first and the last part that a chapter asks for."""
    every = {exercise.name for exercise in all_exercises()}
    asks = next(i for i, source in enumerate(code) if "yours(" in source and "import" not in source)
    named = [
        node.value
        for node in ast.walk(ast.parse("\n".join(code[asks:])))
        if isinstance(node, ast.Constant) and node.value in every
    ]
    return list(dict.fromkeys([named[0], named[-1]]))
