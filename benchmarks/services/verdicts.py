"""Time verdicts: the first in a fresh process, and later ones.

Three answers to every exercise: a right one, one with its first listed mistake, and one that no
mistake and no pair of mistakes explains, for which everything is tried. The first verdict is on the
latter. Processor time beyond importing torch, one thread.

    python -m benchmarks.services.verdicts                         all; the record is written anew
    python -m benchmarks.services.verdicts --names split_heads     some; their rows are replaced
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch
from torch.utils._pytree import tree_map

from benchmarks.recording import Row, Script
from course_utils.measure import read_record


def spoiled(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return an answer that is wrong in a way that nobody listed."""

    def change(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.numel():
            wrong = value.clone()
            last = wrong.flatten()[-1]
            changed = ~last if value.dtype == torch.bool else last * 3 + 1
            return torch.where(wrong == last, changed.to(value.dtype), wrong)
        if isinstance(value, bool):
            return not value
        return 7 * value + 3 if isinstance(value, int | float) else value

    return lambda *args: tree_map(change, reference(*args))


def measured(name: str) -> Row:
    """Time the verdicts on an exercise's answers, in a process that has judged nothing yet."""
    torch.set_num_threads(1)
    start = time.process_time()
    from course_utils.checking.judge import judge
    from course_utils.exercises import find

    exercise = find(name)
    listed = next((m for m in exercise.mistakes if m.detects is None), None)
    answers = {
        "first": spoiled(exercise.reference),
        "right": exercise.reference,
        "named": exercise.versions(listed)[0] if listed else spoiled(exercise.reference),
        "unnamed": spoiled(exercise.reference),
    }
    row: Row = {"exercise": name, "chapter": exercise.chapter}
    for key, answer in answers.items():
        judge(exercise, answer)
        row[key] = round(time.process_time() - start, 3)
        start = time.process_time()
    return row


def summary(rows: list[Row]) -> str:
    """Say the median and the largest of each column."""
    lines = []
    for key in ("first", "right", "named", "unnamed"):
        slowest = max(rows, key=lambda row: row[key])
        median = statistics.median(row[key] for row in rows)
        most = f"{slowest[key]:.2f} s ({slowest['exercise']})"
        lines.append(f"{key:8} median {median:.2f} s, at most {most}")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__, names=[])
    options = script.options
    from course_utils.exercises import places

    rows = []
    spawned = multiprocessing.get_context("spawn")
    line = "{exercise:32} {first:6.2f} {right:6.2f} {named:6.2f} {unnamed:6.2f}"
    with ProcessPoolExecutor(1, mp_context=spawned, max_tasks_per_child=1) as fresh:
        for row in fresh.map(measured, options.names or places()):
            rows.append(row)
            print(line.format(**row), flush=True)
    print(summary(rows))
    kept = {}
    if options.names and script.path.is_file():
        kept = {row["exercise"]: row for row in read_record(script.name, options.out)["runs"]}
    kept |= {row["exercise"]: row for row in rows}
    script.record(
        what="processor seconds of a verdict, the import of torch not counted",
        settings={"threads": 1},
        runs=[kept[name] for name in places() if name in kept],
    )


if __name__ == "__main__":
    main()
