"""Train the small detector with three ways of giving queries to digits, and keep what it looks at.

Method: one thread. Canvases of 24 × 24 pixels with one to three digits, five object queries, AdamW
1e-3, batch 32. "optimal" matches each digit with a query of its own, "cheapest" lets each digit
take its cheapest query, "alike" matches optimally, but all queries begin and stay the same. Judged
on 300 canvases of test digits: located is within 2 pixels, by a query that no other digit has. It
takes five minutes.

    .venv/bin/python benchmarks/chapter_14_detection.py
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from timing import processor

from course_utils.models.detection import QUERIES, WIDTH, Detector
from course_utils.models.detection_training import (
    BATCH,
    RATE,
    judge_detector,
    judged_scenes,
    train_detector,
)

STEPS = 1000
WAYS = ["optimal", "cheapest", "alike"]
SHOWN = 3  # canvases whose weights are kept


def run(how: str, seed: int, shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Train one detector, return what it finds, and keep what the first one looks at."""
    torch.manual_seed(seed)
    model = Detector(alike=how == "alike")
    start = time.process_time()
    rule = "cheapest" if how == "cheapest" else "optimal"
    losses = train_detector(model, steps=STEPS, seed=seed, how=rule)
    spent = time.process_time() - start
    if not shown:
        shown.extend(looked_at(model))
    found = judge_detector(model, judged_scenes())
    return {
        "how": how, "seed": seed, "steps": STEPS, "cpu_seconds": round(spent, 1),
        "parameters": sum(p.numel() for p in model.parameters()),
        "last_loss": round(sum(losses[-50:]) / len(losses[-50:]), 4),
        **{name: round(value, 3) for name, value in found.items()},
    }  # fmt: skip


@torch.no_grad()
def looked_at(model: Detector) -> list[dict[str, Any]]:
    """Return a few canvases of three digits, and for each query its weights and its answer."""
    scenes = judged_scenes()
    chosen = scenes.present.all(dim=-1).nonzero()[:SHOWN, 0]
    images = scenes.images[chosen]
    scores, centres = model(images)
    weights = model.weights(images)
    rows = zip(chosen.tolist(), images, scores.softmax(-1), centres, weights, strict=True)
    return [
        {
            "pixels": (16 * image[0]).int().tolist(),
            "labels": scenes.labels[number].tolist(),
            "centres": rounded(scenes.centres[number]),
            "says": score.argmax(-1).tolist(),
            "points": rounded(centre),
            "weights": rounded(weight),
        }
        for number, image, score, centre, weight in rows
    ]


def rounded(values: torch.Tensor) -> Any:
    """Return nested lists with three digits behind the point."""
    return [rounded(one) for one in values] if values.dim() else round(values.item(), 3)


def main() -> None:
    """Train all detectors and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="so many of each (default 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        for how in WAYS:
            runs.append(run(how, seed, shown))
            print(runs[-1], flush=True)
    write_record(
        options.out / "chapter_14_detection.json",
        what="a small detector, trained with three ways of giving queries to digits",
        command=f"python benchmarks/chapter_14_detection.py --seeds {options.seeds}",
        settings={"queries": QUERIES, "width": WIDTH, "batch": BATCH, "learning_rate": RATE,
                  "processor": processor()},
        shown=shown,
        runs=runs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
