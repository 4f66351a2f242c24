"""A class is graded several at a time, whoever does the work, and a stopped run goes on."""

import csv
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
import nbformat
import pytest
from distributed import Client, LocalCluster

from course_utils.checking.report import Report
from course_utils.exercises import find
from course_utils.grading import bulk
from course_utils.grading.__main__ import main
from course_utils.grading.bulk import HandIn, grade_all, grade_one, hand_ins, latest, write_tables
from tests.grading.hostile import HOSTILE, RIGHT_MERGE, WRONG
from tools.orphans import children

RIGHT = (
    "def split_heads(x, num_heads):\n    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)\n"
)


def notebook(
    path: Path, *cells: str, asks: tuple[str, ...] = ("split_heads", "merge_heads")
) -> Path:
    """A notebook that asks for exercises; what answers them stands in other cells."""
    asking = [nbformat.v4.new_code_cell("", metadata={"exercise": name}) for name in asks]
    written = [nbformat.v4.new_code_cell(cell) for cell in cells]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=asking + written), path)
    return path


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submitted")
    notebook(folder / "ada" / "05" / "05_multi_head.ipynb", RIGHT, RIGHT_MERGE)
    notebook(folder / "ben" / "05" / "05_multi_head.ipynb", WRONG)
    notebook(folder / "eve" / "05" / "05_multi_head.ipynb", *next(iter(HOSTILE.values())))
    notebook(folder / "eve" / ".ipynb_checkpoints" / "05_multi_head-checkpoint.ipynb", RIGHT)
    (folder / "ben" / "05" / "timestamp.txt").write_text("2026-10-01 12:30:00.250000 UTC")
    (folder / "max.ipynb").write_text("not a notebook")
    return folder


@pytest.fixture(scope="module")
def singly(submitted: Path) -> list[dict[str, Any]]:
    """The results that each learner gets from one process."""
    return [grade_one(one) for one in hand_ins(submitted)]


def test_learners_are_named_by_their_folders_and_times_by_what_was_noted(submitted: Path) -> None:
    found = hand_ins(submitted)
    assert [one.learner for one in found] == ["ada", "ben", "eve", "max"]
    assert found[1].time % 60 == 0.25
    assert [one.learner for one in hand_ins(submitted / "max.ipynb")] == ["max"]
    with pytest.raises(FileNotFoundError, match="there must be a notebook or a folder at"):
        hand_ins(submitted / "nobody")


@pytest.mark.thorough
def test_points_are_the_same_by_two_processes_and_by_one(
    submitted: Path, singly: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert [one["points"] for one in singly] == [singly[0]["of"], 0, 0, 0]
    assert [bool(one["error"]) for one in singly] == [False, False, False, True]
    assert main([str(submitted), "--results", str(tmp_path / "class"), "--jobs", "2"]) == 1
    stored = list(bulk.read_results(tmp_path / "class" / bulk.RESULTS))
    assert sorted(stored, key=lambda one: str(one["learner"])) == singly
    read = {
        name: list(csv.reader((tmp_path / "class" / f"{name}.csv").read_text().splitlines()))
        for name in ("points", "canvas", "moodle")
    }
    assert read["moodle"] == [["username", "Chapter 05"], ["ada", str(singly[0]["of"])], *(
        [learner, "0"] for learner in ("ben", "eve")
    )]  # fmt: skip
    assert read["canvas"][1][-1] == str(singly[0]["of"])
    assert [row[3] for row in read["canvas"][2:]] == ["ada", "ben", "eve"]
    of = str(find("split_heads").points)
    assert ["ben", "5", "split_heads", "0", of, "misconception"] in read["points"]


@pytest.mark.thorough
def test_a_run_killed_half_way_goes_on_where_it_was(
    submitted: Path, singly: list[dict[str, Any]], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "course_utils.grading", str(submitted), "--jobs", "2"]
    command += ["--results", str(tmp_path / "class")]
    store = tmp_path / "class" / bulk.RESULTS
    run = subprocess.Popen(command)
    while not (store.exists() and store.read_bytes()):
        assert run.poll() is None
        time.sleep(0.02)
    left = [run.pid, *_below(run.pid)]
    run.kill()
    run.wait()
    kept = store.read_bytes()
    subprocess.run(command, check=False)
    assert store.read_bytes().startswith(kept)
    stored = sorted(bulk.read_results(store), key=lambda one: str(one["learner"]))
    assert stored == singly
    assert not [pid for pid in left if _runs(pid)]


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _below(pid: int) -> list[int]:
    """Its children and theirs."""
    return [one for child in children(pid) for one in (child, *_below(child))]


@pytest.mark.thorough
def test_workers_of_a_cluster_grade_behind_the_same_walls(submitted: Path, tmp_path: Path) -> None:
    with (
        dask.config.set({"distributed.worker.daemon": False}),  # the walls need processes
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        results = grade_all(hand_ins(submitted), tmp_path, client.get_executor())
    points = {one["learner"]: one["points"] for one in results}
    assert points == {"ada": points["ada"], "ben": 0, "eve": 0, "max": 0}
    assert points["ada"] > 0


class Counted(ThreadPoolExecutor):
    """Remembers whose notebooks it is given."""

    def __init__(self) -> None:
        super().__init__(1)
        self.given: list[str] = []

    def submit(self, fn, /, *args, **kwargs):
        self.given.append(args[0].learner)
        return super().submit(fn, *args, **kwargs)


def test_a_stopped_run_goes_on_and_new_content_is_graded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(exercise: str, cells: list[str], seconds: int) -> Report:
        return Report(exercise, "passed" if "good" in cells else "different", "")

    monkeypatch.setattr(bulk, "grade", judged)
    class_, store = tmp_path / "in", tmp_path / "out"
    for name in ("ann", "bob", "cyd"):
        notebook(class_ / name / "x.ipynb", "good")
    first = grade_all(hand_ins(class_)[:2], store, Counted())
    assert {one["learner"] for one in first} == {"ann", "bob"}
    with (store / bulk.RESULTS).open("a") as file:
        file.write('{"learner": "torn')
    again = Counted()
    assert len(grade_all(hand_ins(class_), store, again)) == 3
    assert again.given == ["cyd"]
    notebook(class_ / "bob" / "x.ipynb", "bad")
    third = Counted()
    results = grade_all(hand_ins(class_), store, third)
    assert third.given == ["bob"]
    assert {who: one["points"] > 0 for (who, _), one in latest(results).items()} == {
        "ann": True, "bob": False, "cyd": True,
    }  # fmt: skip
    write_tables(results, store)
    assert (store / "moodle.csv").read_text().splitlines()[2] == "bob,0"


def test_what_cannot_be_graded_says_why_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(bulk, "grade", fails)
    deep = grade_one(HandIn("ann", notebook(tmp_path / "ann.ipynb", "x"), 0.0))
    assert deep["error"] == "RecursionError: too deep"
    none = grade_one(HandIn("bob", notebook(tmp_path / "bob.ipynb", asks=()), 0.0))
    assert none["error"] == "ValueError: it asks for no exercise of the course"
    monkeypatch.setattr(bulk, "LARGEST", 10)
    assert "at most 0 MiB" in grade_one(HandIn("bob", tmp_path / "bob.ipynb", 0.0))["error"]


def test_without_the_cluster_s_package_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    notebook(tmp_path / "x.ipynb")
    with pytest.raises(SystemExit, match="--dask needs the package distributed"):
        main([str(tmp_path), "--results", str(tmp_path), "--dask", "tcp://127.0.0.1:1"])
