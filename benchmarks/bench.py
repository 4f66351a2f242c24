"""Compare the course with its peers, each pair in a process of its own: `make bench`.

Method: one thread; within a pair all calls run in rounds, each once a round in a new order, by CPU
time, in which waiting for other programs does not count. A ratio is peer's time / our time in one
round; the record holds the median over the rounds, the smallest and the largest; besides, what an
import costs. How long a verdict takes is measured by `verdicts.py`.

    .venv/bin/python benchmarks/bench.py                       all; some ten minutes
    .venv/bin/python benchmarks/bench.py --pair window mha     some
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pairs import PAIRS
from recording import RESULTS, write_record
from timing import in_rounds, milliseconds, processor

IMPORTS = ("course_utils", "course_utils.attention", "course_utils.models", "torch")
SHOWN = "{says:52} {peer:40} {median:7.2f}  ({low:.2f} to {high:.2f})"
Row = dict[str, Any]


def measured(name: str, rounds: int) -> list[Row]:
    """Time one pair in this process; one record a peer."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    pair = next(pair for pair in PAIRS if pair.name == name)
    with torch.inference_mode("training" not in name):
        calls = pair.calls()
        seconds = in_rounds(calls, rounds, 0.1)
    rows = []
    for number, (peer, times) in enumerate(seconds.items()):
        if peer == "ours":
            continue
        ratios = [theirs / ours for theirs, ours in zip(times, seconds["ours"], strict=True)]
        rows.append({
            "pair": name, "chapter": pair.chapter, "says": pair.says, "peer": peer,
            "aim": round(pair.aim, 3) if number == 1 else None,
            "median": round(statistics.median(ratios), 3),
            "low": round(min(ratios), 3), "high": round(max(ratios), 3), "rounds": rounds,
            "ours_milliseconds": milliseconds(seconds["ours"]),
        })  # fmt: skip
    return rows


def apart(name: str, rounds: int) -> list[Row]:
    """Measure a pair in a process of its own, and return its records."""
    command = [sys.executable, __file__, "--only", name, "--rounds", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return rows


def import_time(repeats: int = 5) -> list[Row]:
    """Time what an import costs in a fresh process, beside a process that imports nothing."""
    rows = []
    for module in ("sys", *IMPORTS):
        command = [sys.executable, "-c", f"import {module}, time; print(time.process_time())"]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout
                for _ in range(repeats)]  # fmt: skip
        rows.append({"import": module, "seconds": round(statistics.median(map(float, runs)), 3)})
    return rows


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--pair", nargs="+", choices=[pair.name for pair in PAIRS])
    parser.add_argument("--rounds", type=int, default=7, help="repeats of each (default 7)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measured(options.only, options.rounds)))
        return
    rows = []
    for pair in PAIRS:
        if options.pair and pair.name not in options.pair:
            continue
        rows += apart(pair.name, options.rounds)
        for row in rows:
            if row["pair"] == pair.name:
                print(SHOWN.format(**row), flush=True)
    if options.pair:
        return
    write_record(
        options.out / "bench.json",
        what="ours beside its peers: peer's time / our time, so above 1 ours is faster",
        command="python benchmarks/bench.py",
        versions={name: version(name) for name in ("transformers",)},
        settings={"threads": 1, "rounds": options.rounds, "processor": processor()},
        runs=rows,
        imports=import_time(),
    )


if __name__ == "__main__":
    main()
