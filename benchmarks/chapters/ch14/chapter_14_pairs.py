"""Pictures and captions: two towers, a fusion by cross-attention, and a caption model given eyes.

Method: one thread. Strips of three digits and their captions in letters; 800 numbers to learn, 200
that no training shows. Towers: contrastive loss on batches of 64. Fusion: the right caption against
one with a wrong digit and a random one. Captions: a text model is trained alone and frozen; then
gated layers and the picture's encoder are trained, with the gates at 0 or 1 at first; "all" trains
everything. AdamW 2e-3. It takes four minutes for a seed.

    python -m benchmarks.chapters.ch14.chapter_14_pairs
"""

import copy
import time
from collections.abc import Iterable

import torch
from torch import nn

from benchmarks.recording import Row, Script
from benchmarks.timing import clocked
from course_utils.models.tasks.captions import Captioner, judge_captions, train_captions
from course_utils.models.tasks.pair_training import (
    BATCH,
    RATE,
    all_scores,
    recall_at_1,
    train_fusion,
    train_towers,
)
from course_utils.models.vision.two_towers import Fusion, TwoTowers

TOWERS, FUSION, TEXT, EYES = 400, [300], 300, 300
MATCHING = {"towers": (TwoTowers, train_towers), "fusion": (Fusion, train_fusion)}


def matching(kind: str, steps: int, seed: int) -> Row:
    """Train one model that matches pairs, and return how often the right one comes first."""
    torch.manual_seed(seed)
    make, train = MATCHING[kind]
    model = make()
    _, seconds = clocked(train, model, steps=steps, seed=seed)
    start = time.process_time()
    captions, pictures = recall_at_1(all_scores(model))
    return {
        "model": kind, "seed": seed, "steps": steps, "cpu_seconds": seconds,
        "gallery_seconds": round(time.process_time() - start, 3),
        "finds_caption": round(captions, 3), "finds_picture": round(pictures, 3),
    }  # fmt: skip


def captioning(seed: int) -> Iterable[Row]:
    """Train a text model, then give it eyes in three ways; return each way's losses."""
    torch.manual_seed(seed)
    blind = Captioner()
    train_captions(blind, blind.text.parameters(), steps=TEXT, seed=seed, sees=False)
    for way, gate in (("gate 0", 0.0), ("gate 1", 1.0), ("all", 0.0)):
        model = copy.deepcopy(blind)
        nn.init.constant_(model.gates, gate)
        new = [*model.image.parameters(), model.W, model.gates]
        before = told(model, sees=True)
        trained = model.parameters() if way == "all" else new
        losses, seconds = clocked(train_captions, model, trained, steps=EYES, seed=seed, sees=True)
        yield {
            "model": way, "seed": seed, "steps": EYES, "before": before,
            "losses": [round(loss, 3) for loss in losses[::10]], "cpu_seconds": seconds,
            "after": told(model, sees=True), "blind": told(model, sees=False),
        }  # fmt: skip


def told(model: Captioner, *, sees: bool) -> dict[str, float]:
    """Return loss and share of digits, rounded."""
    return {name: round(x, 4) for name, x in judge_captions(model, sees=sees).items()}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    runs: list[Row] = []
    for seed in range(script.options.seeds):
        runs.append(matching("towers", TOWERS, seed))
        runs.extend(captioning(seed))
        print(*runs[-4:], sep="\n", flush=True)
    runs.extend(matching("fusion", steps, 0) for steps in FUSION)
    print(*runs[-2:], sep="\n", flush=True)
    script.record(
        what="strips of digits and captions: two towers, fusion, and captions with gated attention",
        settings={"batch": BATCH, "learning_rate": RATE},
        runs=runs,
    )


if __name__ == "__main__":
    main()
