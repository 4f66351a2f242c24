"""Train the small detector with three ways of giving queries to digits, and keep what it looks at.

Method: one thread. Canvases of 24 × 24 pixels with one to three digits, five object queries, AdamW
1e-3, batch 32. "optimal" matches each digit with a query of its own, "cheapest" lets each digit
take its cheapest query, "alike" matches optimally, but all queries begin and stay the same. Judged
on 300 canvases of test digits: located is within 2 pixels, by a query that no other digit has.

The record is written after each model, and a second start goes on where the first ended. It takes
three minutes for a seed.

    python -m benchmarks.chapters.ch14.chapter_14_detection
"""

import json
from itertools import product

import torch

from benchmarks.recording import Row, Script, rounded
from benchmarks.timing import training
from course_utils.models.tasks.detection_training import (
    BATCH,
    RATE,
    judge_detector,
    judged_scenes,
    train_detector,
)
from course_utils.models.vision.detection import QUERIES, WIDTH, Detector

STEPS = 1000
WAYS = ["optimal", "cheapest", "alike"]
SHOWN = 3  # canvases whose weights are kept


def run(shown: list[Row], seed: int, how: str) -> Row:
    """Train one detector, return what it finds, and keep what the first one looks at."""
    torch.manual_seed(seed)
    model = Detector(alike=how == "alike")
    rule = "cheapest" if how == "cheapest" else "optimal"
    learnt = training(train_detector, model, steps=STEPS, seed=seed, how=rule)
    if not shown:
        shown.extend(looked_at(model))
    found = judge_detector(model, judged_scenes())
    return {
        "how": how, "seed": seed, "steps": STEPS, **learnt,
        **{name: round(value, 3) for name, value in found.items()},
    }  # fmt: skip


@torch.no_grad()
def looked_at(model: Detector) -> list[Row]:
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


def main() -> None:
    """Train every detector that the record lacks."""
    script = Script(__file__, __doc__, seeds=2)
    kept = json.loads(script.path.read_text()) if script.path.exists() else {}
    runs: list[Row] = kept.get("runs", [])
    shown: list[Row] = kept.get("shown", [])
    done = {(one["seed"], one["how"]) for one in runs}
    for seed, how in product(range(script.options.seeds), WAYS):
        if (seed, how) not in done:
            runs.append(run(shown, seed, how))
            print(runs[-1], flush=True)
            save(script, shown, runs)


def save(script: Script, shown: list[Row], runs: list[Row]) -> None:
    """Write the record."""
    script.record(
        what="a small detector, trained with three ways of giving queries to digits",
        settings={"queries": QUERIES, "width": WIDTH, "batch": BATCH, "learning_rate": RATE},
        shown=shown,
        runs=sorted(runs, key=lambda one: (one["seed"], WAYS.index(one["how"]))),
    )


if __name__ == "__main__":
    main()
