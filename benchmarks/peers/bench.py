"""Compare the course with its peers, each pair in a process of its own: `make bench`.

Method: one thread; within a pair all calls run in rounds, each once a round in a new order, by CPU
time, in which waiting for other programs does not count. A ratio is peer's time / our time in one
round; the record holds the median over the rounds, the smallest and the largest; besides, what an
import costs. How long a verdict takes is measured by `verdicts.py`.

    python -m benchmarks.peers.bench                       all; some ten minutes
    python -m benchmarks.peers.bench --pair window mha     some; recorded only with --out
"""

import json
import statistics
import subprocess
import sys
from importlib.metadata import version

from benchmarks.peers.pairs import PAIRS
from benchmarks.recording import RESULTS, Row, Script, apart
from benchmarks.timing import in_rounds, milliseconds

IMPORTS = ("course_utils", "course_utils.attention", "course_utils.models", "torch")
NAMES = tuple(pair.name for pair in PAIRS)
SHOWN = "{says:52} {peer:40} {median:7.2f}  ({low:.2f} to {high:.2f})"


def measured(name: str, rounds: int) -> list[Row]:
    """Time one pair in this process; one record per peer."""
    import torch

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
    script = Script(__file__, __doc__, pair=NAMES, rounds=7, inside="")
    options = script.options
    if options.inside:
        print(json.dumps(measured(options.inside, options.rounds)))
        return
    rows = []
    for name in options.pair:
        found = apart(__file__, "--inside", name, "--rounds", str(options.rounds))
        print(*(SHOWN.format(**row) for row in found), sep="\n", flush=True)
        rows += found
    if options.pair != NAMES and options.out == RESULTS:
        return
    script.record(
        what="ours beside its peers: peer's time / our time, so above 1 ours is faster",
        versions={"transformers": version("transformers")},
        settings={"threads": 1, "rounds": options.rounds},
        runs=rows,
        imports=import_time(),
    )


if __name__ == "__main__":
    main()
