"""Train layers that keep a state to recall values by their keys, as chapter 08 trains attention.

Every model has two layers of width 64 and the same number of parameters, to half a unit of
a feed-forward layer. Lists of 2 to 16 pairs are learnt, lists of 4, 16, 32 and 64 pairs are asked
for; softmax and linear attention stand in chapter 08's record, learnt in the same way.

The record is written after each model, and a second start goes on where the first ended. It takes
about an hour on one core:

    python benchmarks/chapter_17_recall.py
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import torch
from chapter_08_recall import PAIRS, SEQUENCES, trained
from recording import RESULTS, write_record
from tqdm import tqdm

from course_utils.models.recall import D_MODEL, LAYERS, SYMBOLS, RecallModel

RESULT = RESULTS / "chapter_17_recall.json"
STEPS = 1000
HYBRID = "gated delta, then softmax"
MODELS: dict[str, tuple[str, int]] = {
    "retention, 4 heads, raw": ("raw retention", 4),
    "retention, 4 heads": ("retention", 4),
    "delta, 4 heads": ("delta", 4),
    "delta, 1 head": ("delta", 1),
    "delta, 16 heads": ("delta", 16),
    HYBRID: ("gated delta", 4),
    "gated delta, 4 heads": ("gated delta", 4),
    "retention, 1 head": ("retention", 1),
    "retention, 16 heads": ("retention", 16),
    "gated linear, 4 heads, raw": ("raw gated linear", 4),
    "gated linear, 4 heads": ("gated linear", 4),
    "WKV": ("WKV", 1),
    "SSM, 16 per channel": ("SSM", 1),
}
LONGER = ("WKV", "SSM, 16 per channel")


def run(name: str, seed: int, steps: int) -> dict[str, Any]:
    """Train one model, and return what it recalls."""
    torch.manual_seed(seed)
    model = RecallModel(*MODELS[name])
    if name == HYBRID:
        model.layers[1] = RecallModel("full").layers[1]
    return {"model": name, **trained(model, seed, steps), "steps": steps}


def main() -> None:
    """Run every combination that the record lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default 0 1 2")
    parser.add_argument("--models", nargs="+", default=list(MODELS), help="default all")
    parser.add_argument("--out", type=Path, default=RESULT, help="file to write and to go on from")
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: list[dict[str, Any]] = []
    if options.out.exists():
        runs = json.loads(options.out.read_text())["runs"]
    done = {(one["model"], one["seed"], one["steps"]) for one in runs}
    longer = [name for name in LONGER if name in options.models]
    wanted = [
        *itertools.product(options.models, options.seeds, [STEPS]),
        *itertools.product(longer, options.seeds, [3 * STEPS]),
    ]
    wanted.sort(key=lambda one: one[2:0:-1])  # the long runs last, and seed by seed
    for one in tqdm(wanted, ncols=80):
        if one not in done:
            runs.append(run(*one))
            save(options.out, runs)
    save(options.out, runs)


def save(path: Path, runs: list[dict[str, Any]]) -> None:
    """Write the record."""
    write_record(
        path,
        what="share of values recalled, by what a layer keeps and the length of the list",
        command="python benchmarks/chapter_17_recall.py",
        settings={
            "steps": STEPS, "batch": 32, "learning_rate": 3e-3, "d_model": D_MODEL,
            "layers": LAYERS, "keys": SYMBOLS, "values": SYMBOLS,
            "trained_pairs": PAIRS, "sequences": SEQUENCES,
        },
        runs=sorted(
            runs, key=lambda one: (one["steps"], one["seed"], list(MODELS).index(one["model"]))
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
