"""Train small convolutional networks to compare dots far apart, with a non-local block and without.

Method: one thread. Images of 14 × 14 pixels with twelve dots; three 3 × 3 convolutions, a receptive
field of 7 × 7; AdamW 3e-3, batch 32. It takes three minutes.

    python -m benchmarks.chapters.ch14.chapter_14_dots
"""

from itertools import product

import torch

from benchmarks.recording import Row, Script, each
from benchmarks.timing import clocked
from course_utils.models.tasks.dots import BATCH, RATE, DotNet, dots_right, train_on_dots

STEPS = [300, 600]


def run(steps: int, non_local: bool, seed: int) -> Row:
    """Train one network, and return how often it is right on images that no training drew."""
    torch.manual_seed(seed)
    model = DotNet(non_local=non_local)
    _, seconds = clocked(train_on_dots, model, steps=steps, seed=seed)
    return {
        "non_local": non_local, "seed": seed, "steps": steps, "cpu_seconds": seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "right": round(dots_right(model), 3),
    }  # fmt: skip


def main() -> None:
    """Train all networks and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="dots that must compare themselves with a marked one far away",
        settings={"batch": BATCH, "learning_rate": RATE},
        runs=each(run, product(STEPS, (True, False), range(script.options.seeds))),
    )


if __name__ == "__main__":
    main()
