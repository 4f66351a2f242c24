"""Train chapter 08's recall models with one layer that sees everything and one that sees a window.

Method: chapter 08's task, sizes and steps; only the layers are mixed. What two layers of one kind
recall stands in its record. It takes about four minutes on one core:

    .venv/bin/python benchmarks/chapter_16_recall.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from chapter_08_recall import PAIRS, SEQUENCES, STEPS, trained
from recording import RESULTS, write_record
from tqdm import tqdm

from course_utils.models.recall import D_MODEL, WINDOW, RecallModel

STACKS = [["window", "full"], ["full", "window"]]


def run(kinds: list[str], seed: int) -> dict[str, Any]:
    """Train one model, and return what it recalls."""
    torch.manual_seed(seed)
    model = RecallModel(kinds[0])
    model.layers[1] = RecallModel(kinds[1]).layers[1]
    return {"layers": kinds, **trained(model, seed, STEPS)}


def main() -> None:
    """Train all models and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="so many of each (default 3)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    todo = [(kinds, seed) for seed in range(options.seeds) for kinds in STACKS]
    write_record(
        options.out / "chapter_16_recall.json",
        what="share of values recalled by a window layer and a full one, by their order",
        command=f"python benchmarks/chapter_16_recall.py --seeds {options.seeds}",
        settings={"steps": STEPS, "d_model": D_MODEL, "heads": 4, "window": WINDOW,
                  "trained_pairs": PAIRS, "sequences": SEQUENCES},
        runs=[run(*one) for one in tqdm(todo, ncols=80)],
    )  # fmt: skip


if __name__ == "__main__":
    main()
