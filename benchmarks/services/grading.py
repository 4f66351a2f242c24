"""A class of 300 graded three ways: one at a time, by two processes, by two workers of dask.

Thirty of them are hostile, of every kind that tests/grading knows; the others are right, wrong in
one of two ways, or untouched. A run that was stopped goes on in its `--folder`.

    python -m benchmarks.services.grading                     all; the record is written
    python -m benchmarks.services.grading --submissions 60    fewer, only printed
"""

import itertools
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nbformat
from tqdm import tqdm

from benchmarks.recording import Row, Script
from benchmarks.services.memory import held_by_tree, watched
from course_utils.environment import ROOT
from course_utils.grading.bulk import grade_all, hand_ins
from tests.grading.hostile import HOSTILE, RIGHT_MERGE, STUB, WRONG

EXERCISES = ("split_heads", "merge_heads")
RIGHT = (
    "def split_heads(x, num_heads):\n    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)\n"
)
WRONG_MERGE = "def merge_heads(heads):\n    return heads.flatten(-2)\n"
HONEST = {
    "right": (RIGHT, RIGHT_MERGE),
    "wrong": (WRONG, RIGHT_MERGE),
    "wrong twice": (WRONG, WRONG_MERGE),
    "untouched": (STUB,),
}
SECONDS = 10  # that an answer may take: some hostile ones take all
WAYS = ("singly", "two processes", "two dask workers")


def write_class(folder: Path, submissions: int) -> None:
    """Write the notebooks: every tenth is hostile."""
    hostile, honest = itertools.cycle(HOSTILE.items()), itertools.cycle(HONEST.items())
    for number in range(submissions):
        kind, cells = next(honest if number % 10 else hostile)
        names = {"VICTIM": str(folder / "victim.txt"), "COURSE": str(ROOT)}
        given = "\n".join(f"{name} = {value!r}" for name, value in names.items())
        asking = [nbformat.v4.new_code_cell("", metadata={"exercise": one}) for one in EXERCISES]
        written = [nbformat.v4.new_code_cell(cell) for cell in (given, *cells)]
        path = folder / "submitted" / f"learner{number:03d}" / "05_multi_head.ipynb"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            notebook = nbformat.v4.new_notebook(cells=asking + written, metadata={"kind": kind})
            nbformat.write(notebook, path)
    (folder / "victim.txt").write_text("mine")


@contextmanager
def executor(way: str) -> Iterator[Executor]:
    """Give who grades."""
    if way == "singly":
        with ThreadPoolExecutor(1) as one:  # what `grade_one` does, in this very process
            yield one
    elif way == "two processes":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as two:
            yield two
    else:
        import dask
        from distributed import Client, LocalCluster

        settings = {"distributed.worker.daemon": False}  # the walls need processes
        with (
            dask.config.set(settings),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client.get_executor()


def graded(folder: Path, way: str) -> Row:
    """Grade the class in one of the ways, or go on with it."""
    store = folder / way.replace(" ", "_")
    kept = store / "measured.json"
    before = json.loads(kept.read_text()) if kept.exists() else {"seconds": 0.0, "peak": 0}
    start = time.monotonic()
    try:
        with watched(held_by_tree) as peak, executor(way) as one:
            bar = lambda done, total: tqdm(done, total=total, desc=way, ncols=70)  # noqa: E731
            results = grade_all(hand_ins(folder / "submitted"), store, one, (), SECONDS, bar)
    finally:
        seconds = before["seconds"] + time.monotonic() - start
        store.mkdir(exist_ok=True)
        measured = {"seconds": seconds, "peak": max(before["peak"], *peak)}
        kept.write_text(json.dumps(measured))
    points = {one["learner"]: one["points"] for one in results}
    return {**measured, "points": points, "of": results[0]["of"]}


def main() -> int:
    """Run from the command line; the exit status is 1 where the ways differ or a cheat gains."""
    script = Script(__file__, __doc__, submissions=300, folder="")
    given = script.options
    folder = Path(given.folder or tempfile.mkdtemp(prefix="grading-"))
    write_class(folder, given.submissions)
    done = {way: graded(folder, way) for way in WAYS}
    points = done[WAYS[0]]["points"]
    worst = any(one["points"] != points for one in done.values())
    rows = [
        {
            "way": way, "minutes": round(one["seconds"] / 60, 1),
            "per_minute": round(given.submissions / one["seconds"] * 60, 1),
            "peak_mib": round(one["peak"] / 2**20),
        }
        for way, one in done.items()
    ]  # fmt: skip
    print(*rows, sep="\n")
    kinds = {
        path.parent.name: nbformat.read(path, 4).metadata["kind"]
        for path in folder.glob("submitted/*/*.ipynb")
    }
    by_kind: dict[str, set[int]] = defaultdict(set)
    for learner, kind in kinds.items():
        by_kind[kind].add(points[learner])
    gained = [kind for kind in by_kind if kind in HOSTILE and by_kind[kind] != {0}]
    safe = (folder / "victim.txt").read_text() == "mine"
    print("points by kind:", {kind: sorted(each) for kind, each in by_kind.items()})
    print(f"the same points every way: {not worst}; gained: {gained}; nothing harmed: {safe}")
    if given.submissions >= 300:
        script.record(
            what="a class graded one at a time, by two processes, and by two workers of dask",
            settings={
                "submissions": given.submissions, "exercises": len(EXERCISES),
                "hostile": sum(kind in HOSTILE for kind in kinds.values()),
                "kinds_of_hostile": len(HOSTILE), "seconds_for_an_answer": SECONDS,
                "same_points": not worst, "hostile_that_gained": len(gained),
                "files_harmed": int(not safe),
                "largest_child_mib": round(
                    resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
                ),
            },
            runs=rows,
        )  # fmt: skip
    return int(worst or bool(gained) or not safe)


if __name__ == "__main__":
    sys.exit(main())
