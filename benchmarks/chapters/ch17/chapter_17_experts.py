"""Train eight experts on data of eight kinds, with and without the balance loss, and dense layers.

It takes about three minutes on one core:

    python -m benchmarks.chapters.ch17.chapter_17_experts
"""

from itertools import product

import torch

from benchmarks.recording import Row, Script, each
from course_utils.models.tasks.expert_task import (
    HIDDEN,
    KINDS,
    WIDTH,
    Experts,
    ExpertTask,
    feed_forward,
    judge_experts,
    train_experts,
)

STEPS = 800
MODELS: dict[str, tuple[int, float]] = {
    "top-1, no balance loss": (1, 0.0),
    "top-1, 0.01": (1, 0.01),
    "top-1, 1": (1, 1.0),
    "top-2, no balance loss": (2, 0.0),
    "top-2, 0.01": (2, 0.01),
    "dense, as many active": (0, 1),
    "dense, as many in all": (0, KINDS),
}


def run(seed: int, name: str) -> Row:
    """Train one model, and return its error and how evenly its experts are used."""
    torch.manual_seed(seed)
    chosen, number = MODELS[name]
    model = Experts(chosen) if chosen else feed_forward(HIDDEN * int(number))
    task = ExpertTask(seed)
    train_experts(model, task, balance=number if chosen else 0.0, steps=STEPS, seed=seed)
    judged = {key: round(value, 4) for key, value in judge_experts(model, task).items()}
    return {"model": name, "seed": seed, **judged}


def main() -> None:
    """Run every combination."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="error and evenness of experts on data of eight kinds, against dense layers",
        settings={"steps": STEPS, "batch": 256, "width": WIDTH, "hidden": HIDDEN, "experts": KINDS},
        runs=each(run, product(range(script.options.seeds), MODELS)),
    )


if __name__ == "__main__":
    main()
