"""Train small models to recall values by their keys, and ask them for longer lists than they saw.

Every model has two layers of width 64 and the same number of parameters; what attention saves goes
into the feed-forward layers. Lists of 2 to 16 pairs are learnt, lists of 4, 16, 32 and 64 pairs are
asked for.

The record is written after each model, and a second start goes on where the first ended. It takes
about fifteen minutes on one core:

    python benchmarks/chapter_08_recall.py
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from tqdm import tqdm

from course_utils.models.recall import (
    D_MODEL,
    LAYERS,
    SYMBOLS,
    WINDOW,
    RecallModel,
    judge_recall,
    train_recall,
)

RESULT = RESULTS / "chapter_08_recall.json"
MIXED = "window of 16, then grouped-query"
STEPS, PAIRS, ASKED, SEQUENCES = 1000, (2, 16), (4, 16, 32, 64), 128
MODELS: dict[str, tuple[str, int, int] | tuple[str, int, int, int]] = {
    "full, 4 heads": ("full", 4, 4),
    "grouped-query, 2 of 4 heads": ("full", 4, 2),
    "multi-query, 1 of 4 heads": ("full", 4, 1),
    "window of 16, 4 heads": ("window", 4, 4),
    "linear, 1 head": ("linear", 1, 1),
    "linear, 4 heads": ("linear", 4, 4),
    "linear, 16 heads": ("linear", 16, 16),
    "multi-query, 1 of 8 heads": ("full", 8, 1),
    "multi-query, 1 of 16 heads": ("full", 16, 1),
    "latent of 32, 4 heads": ("latent", 4, 4, 32),
    "latent of 16, 4 heads": ("latent", 4, 4, 16),
    "latent of 8, 4 heads": ("latent", 4, 4, 8),
    MIXED: ("full", 4, 2),
    "latent of 8, 16 heads": ("latent", 16, 16, 8),
}


def trained(model: RecallModel, seed: int, steps: int) -> dict[str, Any]:
    """Train a model, and return what it recalls."""
    start = time.process_time()
    losses = train_recall(model, steps=steps, seed=seed, pairs=PAIRS)
    return {
        "seed": seed,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "cpu_seconds": round(time.process_time() - start, 1),
        "last_loss": round(sum(losses[-50:]) / 50, 4),
        "recalled": {
            pairs: round(share, 4) for pairs, share in judge_recall(model, ASKED, SEQUENCES).items()
        },
    }


def run(name: str, seed: int) -> dict[str, Any]:
    """Make and train one model, and return what it recalls."""
    torch.manual_seed(seed)
    model = RecallModel(*MODELS[name])
    if name == MIXED:
        model.layers[0] = RecallModel("window").layers[0]
    return {"model": name, **trained(model, seed, STEPS)}


def main() -> None:
    """Run every combination that the record lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default 0 1 2")
    parser.add_argument("--out", type=Path, default=RESULT, help="file to write and to go on from")
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: list[dict[str, Any]] = []
    if options.out.exists():
        runs = json.loads(options.out.read_text())["runs"]
    done = {(one["model"], one["seed"]) for one in runs}
    for seed, name in tqdm(list(itertools.product(options.seeds, MODELS)), ncols=80):
        if (name, seed) not in done:
            runs.append(run(name, seed))
            save(options.out, runs)
    save(options.out, runs)


def save(path: Path, runs: list[dict[str, Any]]) -> None:
    """Write the record."""
    write_record(
        path,
        what="share of values recalled, by attention and length of the list",
        command="python benchmarks/chapter_08_recall.py",
        settings={
            "steps": STEPS, "batch": 32, "learning_rate": 3e-3, "d_model": D_MODEL,
            "layers": LAYERS, "keys": SYMBOLS, "values": SYMBOLS, "window": WINDOW,
            "trained_pairs": PAIRS, "sequences": SEQUENCES,
        },
        runs=sorted(runs, key=lambda one: (one["seed"], list(MODELS).index(one["model"]))),
    )  # fmt: skip


if __name__ == "__main__":
    main()
