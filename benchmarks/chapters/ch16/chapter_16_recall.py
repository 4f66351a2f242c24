"""Train chapter 08's recall models with one layer that sees everything and one that sees a window.

Method: chapter 08's task, sizes and steps; only the layers are mixed. What two layers of one kind
recall stands in its record. It takes about four minutes on one core:

    python -m benchmarks.chapters.ch16.chapter_16_recall
"""

from itertools import product

import torch

from benchmarks.chapters.ch08.chapter_08_recall import PAIRS, SEQUENCES, STEPS, trained
from benchmarks.recording import Row, Script, each
from course_utils.models.tasks.recall import D_MODEL, WINDOW, RecallModel

STACKS = [["window", "full"], ["full", "window"]]


def run(seed: int, kinds: list[str]) -> Row:
    """Train one model, and return what it recalls."""
    torch.manual_seed(seed)
    model = RecallModel(kinds[0])
    model.layers[1] = RecallModel(kinds[1]).layers[1]
    return {"layers": kinds, **trained(model, seed, STEPS)}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="share of values recalled by a window layer and a full one, by their order",
        settings={"steps": STEPS, "d_model": D_MODEL, "heads": 4, "window": WINDOW,
                  "trained_pairs": PAIRS, "sequences": SEQUENCES},
        runs=each(run, product(range(script.options.seeds), STACKS)),
    )  # fmt: skip


if __name__ == "__main__":
    main()
