"""Pictures and captions: two towers, a fusion by cross-attention, and a caption model given eyes.

Method: one thread. Strips of three digits and their captions in letters; 800 numbers to learn, 200
that no training shows. Towers: contrastive loss on batches of 64. Fusion: the right caption against
one with a wrong digit and a random one. Captions: a text model is trained alone and frozen; then
gated layers and the picture's encoder are trained, with the gates at 0 or 1 at first; "all" trains
everything. AdamW 2e-3. It takes four minutes for a seed.

    .venv/bin/python benchmarks/chapter_14_pairs.py
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from timing import processor
from torch import nn

from course_utils.models.captions import Captioner, judge_captions, train_captions
from course_utils.models.pair_training import (
    BATCH,
    RATE,
    all_scores,
    recall_at_1,
    train_fusion,
    train_towers,
)
from course_utils.models.two_towers import Fusion, TwoTowers

TOWERS, FUSION, TEXT, EYES = 400, [300], 300, 300


def matching(kind: str, steps: int, seed: int) -> dict[str, Any]:
    """Train one model that matches pairs, and return how often the right one comes first."""
    torch.manual_seed(seed)
    start = time.process_time()
    model: TwoTowers | Fusion
    if kind == "towers":
        model = TwoTowers()
        train_towers(model, steps=steps, seed=seed)
    else:
        model = Fusion()
        train_fusion(model, steps=steps, seed=seed)
    trained = time.process_time()
    captions, pictures = recall_at_1(all_scores(model))
    return {
        "model": kind, "seed": seed, "steps": steps,
        "cpu_seconds": round(trained - start, 1),
        "gallery_seconds": round(time.process_time() - trained, 3),
        "finds_caption": round(captions, 3), "finds_picture": round(pictures, 3),
    }  # fmt: skip


def captioning(seed: int) -> Iterable[dict[str, Any]]:
    """Train a text model, then give it eyes in three ways; return each way's losses."""
    torch.manual_seed(seed)
    blind = Captioner()
    train_captions(blind, blind.text.parameters(), steps=TEXT, seed=seed, sees=False)
    for way, gate in (("gate 0", 0.0), ("gate 1", 1.0), ("all", 0.0)):
        model = copy.deepcopy(blind)
        nn.init.constant_(model.gates, gate)
        new = [*model.image.parameters(), model.W, model.gates]
        start = time.process_time()
        row = {"model": way, "seed": seed, "steps": EYES, "before": told(model, sees=True)}
        trained = model.parameters() if way == "all" else new
        row["losses"] = [
            round(loss, 3)
            for loss in train_captions(model, trained, steps=EYES, seed=seed, sees=True)[::10]
        ]
        row["cpu_seconds"] = round(time.process_time() - start, 1)
        yield {**row, "after": told(model, sees=True), "blind": told(model, sees=False)}


def told(model: Captioner, *, sees: bool) -> dict[str, float]:
    """Return loss and share of digits, rounded."""
    return {name: round(x, 4) for name, x in judge_captions(model, sees=sees).items()}


def main() -> None:
    """Train all models and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="so many of each (default 3)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        runs.append(matching("towers", TOWERS, seed))
        runs.extend(captioning(seed))
        print(*runs[-4:], sep="\n", flush=True)
    runs.extend(matching("fusion", steps, 0) for steps in FUSION)
    print(*runs[-2:], sep="\n", flush=True)
    write_record(
        options.out / "chapter_14_pairs.json",
        what="strips of digits and captions: two towers, fusion, and captions with gated attention",
        command=f"python benchmarks/chapter_14_pairs.py --seeds {options.seeds}",
        settings={"batch": BATCH, "learning_rate": RATE, "processor": processor()},
        runs=runs,
    )


if __name__ == "__main__":
    main()
