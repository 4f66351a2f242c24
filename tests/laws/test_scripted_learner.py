"""A learner who solves every exercise in a way of their own, and runs every chapter's *Yours*.

The answers are those of tests/exercises/right_ways_*.py: right, as the tests there show, and not
the solutions. `check` keeps them, and from there they go into the chapters' experiments, each in a
process of its own. Of a chapter only the cells that its section *Yours* needs are run.
"""

import ast
import dis
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from course_utils import check
from course_utils.answers import kept
from course_utils.checking.report import Report
from course_utils.exercises import all_exercises
from course_utils.sources import source_paths
from tests.exercises.right_ways import RIGHT_WAYS
from tools.notebooks.source import read_chapter

ROOT = Path(__file__).resolve().parents[2]
# Runs each script named on its input in a fork, which need not import torch and the course again.
# As in a notebook, no other process can import what is written there: chapter 16 starts some.
SERVER = """
import os, sys
import matplotlib as mpl
mpl.use("agg")
import torch._dynamo  # optimisers load it late
from course_utils import check, exercises, widgets
from course_utils.models.training import loop as training
training.range = lambda steps: range(min(steps, 5))  # the same training, cut short
for script in sys.stdin:
    if os.fork():
        print(os.wait()[1], flush=True)
        continue
    script = script.strip()
    said = os.open(script + ".out", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(os.path.dirname(script))
    exec(compile(open(script, encoding="utf-8").read(), script, "exec"))
    break
"""
# The section once more, one part broken by hand; a cell after the note may stop then.
AFTER = """
import contextlib as _contextlib, json as _json
from course_utils.answers import kept as _kept
from course_utils.answers.trial import Run as _Run

def _told():
    return [{{"equal": n.equal, "own": [*n.chosen.own], "asked": [*n.chosen.references],
              "blame": [*n.to_blame], "text": str(n)}}
            for n in [*globals().values()] if isinstance(n, _Run)]

_before = _told()
_last = {{}}
for _part in {parts!r} or _before[-1]["asked"][:1]:
    _path = _kept.kept_path(_part)
    _source = _path.read_text(encoding="utf-8")
    _path.write_text(_source + {broken!r}.format(name=_part), encoding="utf-8")
    with _contextlib.suppress(Exception):
        exec({section!r}, globals())
    _path.write_text(_source, encoding="utf-8")
    _last[_part] = _told()[-1]
print("\\n" + _json.dumps([_before, _last]))
"""
# What is broken, where that is not the first part alone.
PARTS = {"10": ("decode_step", "causal_mask", "masked_softmax", "rope_split_halves")}
BROKEN = """

_right = {name}


def _changed(out):
    if isinstance(out, tuple | list):
        return type(out)([_changed(out[0]), *out[1:]])
    return ~out if "bool" in str(getattr(out, "dtype", "")) else out * 2 + 1


def {name}(*args, **kwargs):
    out = _right(*args, **kwargs)
    return not out if isinstance(out, bool) else _changed(out)
"""

pytestmark = pytest.mark.thorough


@dataclass(frozen=True)
class Code:
    """A cell of code: the names that it sets and needs, at once or when its functions run."""

    source: str
    is_yours: bool

    @cached_property
    def names(self) -> tuple[set[str], set[str], set[str]]:
        """Names that it sets, that it needs from cells before, that its functions look up."""
        set_here, before, later = set[str](), set[str](), set[str]()

        def follow(code: CodeType, known: set[str], needed: set[str]) -> None:
            for step in dis.get_instructions(code):
                if step.opname == "STORE_NAME":
                    known.add(step.argval)
                elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                    needed |= {step.argval} - known
                elif inspect.iscode(inner := step.argval):  # of a class or comprehension, or later
                    at_once = not inner.co_flags & inspect.CO_OPTIMIZED or "comp>" in inner.co_name
                    at_once |= inner.co_name == "<genexpr>"
                    follow(inner, *((known.copy(), needed) if at_once else (set(), later)))

        follow(compile(self.source, "<cell>", "exec"), set_here, before)
        return set_here, before, later

    @cached_property
    def changes(self) -> set[str]:
        """Names of things that it trains, or of which it sets a part."""
        found: set[str] = set()
        for node in ast.walk(ast.parse(self.source)):
            if isinstance(node, ast.Call) and "train" in ast.unparse(node.func):
                found |= {one.id for one in node.args if isinstance(one, ast.Name)}
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                found |= {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        return found


@cache
def needed(path: Path) -> list[Code]:
    """Return a chapter's section *Yours*, and before it what it needs."""
    cells: list[Code] = []
    heading, first = "", None
    for cell in read_chapter(path).cells:
        if cell.kind == "markdown":
            heads = [line for line in cell.source.splitlines() if line.startswith("## ")]
            heading = heads[-1] if heads else heading
            if first is not None and not heading.startswith("## Yours"):
                break
        elif cell.exercise is None and not cell.source.startswith("check("):
            is_yours = heading.startswith("## Yours")
            first = len(cells) if first is None and is_yours else first
            cells.append(Code(cell.source, is_yours))
    if first is None:
        return []
    chosen, open_ones = set(range(first, len(cells))), list(range(first, len(cells)))
    while open_ones:
        place = open_ones.pop()
        for names, end in zip(cells[place].names[1:], (place, first), strict=True):
            for name in names:
                setters = [i for i in range(end) if name in cells[i].names[0]]
                changers = [i for i in range(end) if name in cells[i].changes]
                new = {*setters[-1:], *(i for i in changers if setters and i > setters[-1])}
                open_ones += new - chosen
                chosen |= new
    return [cells[i] for i in sorted(chosen)]


CHAPTERS = {path.stem[:2]: path for path in source_paths() if path.stem[:2] != "00"}


@dataclass(frozen=True)
class Learner:
    """Somebody who has passed all exercises, each in a way of their own.

    Attributes:
        unkept: By an exercise's name why its answer could not be kept, empty where it was.
        server: The process that runs scripts.
    """

    unkept: dict[str, str]
    server: subprocess.Popen[str]

    def run(self, script: Path) -> str:
        """Return the last line that a script prints."""
        print(script, file=self.server.stdin, flush=True)
        status = self.server.stdout.readline()
        said = script.with_name(script.name + ".out").read_text(encoding="utf-8")
        assert status == "0\n", said[-3000:]
        return said.splitlines()[-1]


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Learner]:
    path = tmp_path_factory.mktemp("learner") / "progress.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTENTION_COURSE_PROGRESS", str(path))
        patch.setattr("course_utils.learner.judge", lambda e, way: Report(e.name, "passed", ""))
        unkept = {exercise.name: solve(exercise.name) for exercise in all_exercises()}
        with subprocess.Popen(
            [sys.executable, "-c", SERVER], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"},
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as server:  # fmt: skip
            yield Learner(unkept, server)


def _has_loop(way: Any) -> bool:
    """Return whether a way is slow: experiments call it thousands of times."""
    return not inspect.isfunction(way) or "for " in inspect.getsource(way)


def solve(name: str) -> str:
    said = "no right way is known"
    for way in sorted(RIGHT_WAYS.get(name, ()), key=_has_loop):
        said = check(name, way).note or ""
        if kept.kept_path(name).is_file():
            return ""
    return said


def test_every_exercise_is_kept(learner: Learner) -> None:
    assert {name: said for name, said in learner.unkept.items() if said} == {}


@pytest.mark.parametrize("chapter", sorted(CHAPTERS))
def test_the_numbers_are_the_same_and_a_part_broken_on_purpose_is_named(
    chapter: str, learner: Learner, tmp_path: Path
) -> None:
    code = needed(CHAPTERS[chapter])
    assert code, "a chapter has a section Yours"
    section = "\n\n".join(cell.source for cell in code if cell.is_yours)
    after = AFTER.format(broken=BROKEN, section=section, parts=PARTS.get(chapter, ()))
    script = tmp_path / f"chapter_{chapter}.py"
    script.write_text("\n\n".join([*(cell.source for cell in code), after]), encoding="utf-8")
    found, broken = json.loads(learner.run(script))
    for note in found:
        assert note["equal"], note["text"]
        assert note["own"] == note["asked"], note["text"]
    for part, note in broken.items():
        assert not note["equal"], f"{part} may return anything: {note['text']}"
        assert note["blame"] == [part], note["text"]
        assert f"`{part}` is to blame" in note["text"]
