"""Pictures and captions: two towers, a fusion by cross-attention, and a caption model given eyes.

Method: one thread. Strips of three digits and their captions in letters; 800 numbers to learn, 200
that no training shows. Towers: contrastive loss on batches of 64. Fusion: the right caption against
one with a wrong digit and a random one; `gallery_seconds` are those of a whole run for every pair,
`stored_seconds` with both encoders run once. Captions: a text model is trained alone and frozen;
then gated layers and the picture's encoder are trained, with the gates at 0 or 1 at first; "all"
trains everything. AdamW 2e-3.

The record is written after each model, and a second start goes on where the first ended. It takes
five minutes for a seed.

    python -m benchmarks.chapters.ch14.chapter_14_pairs
"""

import copy
import json
import time
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from benchmarks.recording import Row, Script
from benchmarks.timing import clocked
from course_utils.models.tasks.captions import Captioner, judge_captions, train_captions
from course_utils.models.tasks.pair_training import (
    BATCH,
    RATE,
    all_scores,
    gallery,
    recall_at_1,
    train_fusion,
    train_towers,
)
from course_utils.models.vision.two_towers import Fusion, TwoTowers, mean_of

MATCHED, TEXT, EYES = 400, 300, 300
MATCHING = {"towers": (TwoTowers, train_towers), "fusion": (Fusion, train_fusion)}
ORDER = [*MATCHING, "gate 0", "gate 1", "all"]


def matching(kind: str, seed: int) -> Row:
    """Train one model that matches pairs, and return how often the right one comes first."""
    torch.manual_seed(seed)
    make, train = MATCHING[kind]
    model = make()
    _, seconds = clocked(train, model, steps=MATCHED, seed=seed)
    start = time.process_time()
    scores = all_scores(model)
    row = {
        "model": kind, "seed": seed, "steps": MATCHED, "cpu_seconds": seconds,
        "gallery_seconds": round(time.process_time() - start, 3),
    }  # fmt: skip
    if isinstance(model, Fusion):
        start = time.process_time()
        again = stored_scores(model)
        row["stored_seconds"] = round(time.process_time() - start, 3)
        torch.testing.assert_close(scores, again, atol=1e-4, rtol=1e-4)
    found = (round(share, 3) for share in recall_at_1(scores))
    return row | dict(zip(("finds_caption", "finds_picture"), found, strict=True))


@torch.no_grad()
def stored_scores(model: Fusion) -> Tensor:
    """Return all scores with both encoders run once: only what crosses runs for each pair."""
    pictures, texts = gallery()
    letters, there, rows = model.text(texts), (texts > 0)[:, None, None], []
    for patches in model.image(pictures):
        read = patches.expand(len(texts), -1, -1)
        x = letters + model.read(model.read_norm(letters), read, read)
        rows.append(model.out(mean_of(model.last(x, there), texts))[:, 0])
    return torch.stack(rows)


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
    """Train every model that the record lacks."""
    script = Script(__file__, __doc__, seeds=2)
    runs = json.loads(script.path.read_text())["runs"] if script.path.exists() else []
    done = {(one["model"], one["seed"]) for one in runs}
    for seed in range(script.options.seeds):
        for kind in MATCHING:
            if (kind, seed) not in done:
                runs.append(matching(kind, seed))
                save(script, runs)
        if ("all", seed) not in done:
            runs.extend(captioning(seed))
            save(script, runs)


def save(script: Script, runs: list[Row]) -> None:
    """Write the record."""
    print(runs[-1], flush=True)
    script.record(
        what="strips of digits and captions: two towers, fusion, and captions with gated attention",
        settings={"batch": BATCH, "learning_rate": RATE},
        runs=sorted(runs, key=lambda one: (one["seed"], ORDER.index(one["model"]))),
    )


if __name__ == "__main__":
    main()
