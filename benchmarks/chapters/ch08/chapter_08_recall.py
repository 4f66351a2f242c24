"""Train small models to recall values by their keys, and ask them for longer lists than they saw.

Every model has two layers of width 64 and the same number of parameters; what attention saves goes
into the feed-forward layers. Lists of 2 to 16 pairs are learnt, lists of 4, 16, 32 and 64 pairs are
asked for.

It takes about fifteen minutes on one core:

    python -m benchmarks.chapters.ch08.chapter_08_recall
"""

from itertools import product

import torch

from benchmarks.recording import Row, Script, each
from benchmarks.timing import training
from course_utils.models.tasks.recall import (
    D_MODEL,
    LAYERS,
    SYMBOLS,
    WINDOW,
    RecallModel,
    judge_recall,
    train_recall,
)

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


def trained(model: RecallModel, seed: int, steps: int) -> Row:
    """Train a model, and return what it recalls."""
    learnt = training(train_recall, model, steps=steps, seed=seed, pairs=PAIRS)
    recalled = {n: round(one, 4) for n, one in judge_recall(model, ASKED, SEQUENCES).items()}
    return {"seed": seed, **learnt, "recalled": recalled}


def run(seed: int, name: str) -> Row:
    """Make and train one model, and return what it recalls."""
    torch.manual_seed(seed)
    model = RecallModel(*MODELS[name])
    if name == MIXED:
        model.layers[0] = RecallModel("window").layers[0]
    return {"model": name, **trained(model, seed, STEPS)}


def main() -> None:
    """Run every combination and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="share of values recalled, by attention and length of the list",
        settings={
            "steps": STEPS, "batch": 32, "learning_rate": 3e-3, "d_model": D_MODEL,
            "layers": LAYERS, "keys": SYMBOLS, "values": SYMBOLS, "window": WINDOW,
            "trained_pairs": PAIRS, "sequences": SEQUENCES,
        },
        runs=each(run, product(range(script.options.seeds), MODELS)),
    )  # fmt: skip


if __name__ == "__main__":
    main()
