"""Train chapter 07's small model with each scheme of positions on two tasks, and test it longer.

Text: characters of Python's help, learnt 64 at a time, read up to 512. Copy: the symbol of three
places ago, learnt in sequences of 32, read up to 256. At each length the same last tokens are
judged: half as many as a training sequence has. The stretched kinds of RoPE are the trained RoPE
models with other frequencies, without any more training.

The record is written after each model, and a second start goes on where the first ended; a new
way of stretching RoPE trains RoPE alone again, to the same weights. The whole takes about a quarter
of an hour on one core:

    python benchmarks/chapter_07_positions.py
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from tqdm import tqdm

from course_utils.data import character_text
from course_utils.models import (
    LengthTask,
    PositionedTransformer,
    copy_task,
    judge_on_task,
    text_task,
    train_on_task,
)
from course_utils.models.named_schemes import (
    D_MODEL,
    NUM_HEADS,
    RESCALED,
    TRAINED,
    WINDOW,
    rescaled_rope,
)

RESULT = RESULTS / "chapter_07_positions.json"
STEPS, LAYERS, TIMES = 600, 2, (1, 1.5, 2, 4, 8)
TASKS: dict[str, Callable[[], LengthTask]] = {
    "text": lambda: text_task(character_text()),
    "copy": copy_task,
}
Run = dict[str, Any]


def judged(
    model: PositionedTransformer, task: LengthTask, scheme: str, stretch: bool = False
) -> Run:
    """Return loss and accuracy at each length; where asked, RoPE is stretched to each first."""
    found: Run = {"loss": {}, "accuracy": {}}
    for times in TIMES:
        length = int(times * task.trained)
        if stretch:
            model.positions = rescaled_rope(scheme, task.trained, length)
        loss, accuracy = judge_on_task(model, task, length, WINDOW.get(scheme))
        found["loss"][length], found["accuracy"][length] = round(loss, 4), round(accuracy, 4)
    return found


def run(name: str, task: LengthTask, scheme: str, seed: int) -> list[Run]:
    """Train one model and judge it; RoPE's is judged with each way of stretching it too."""
    torch.manual_seed(seed)
    model = PositionedTransformer(
        task.num_tokens,
        d_model=D_MODEL,
        num_heads=NUM_HEADS,
        num_layers=LAYERS,
        positions=TRAINED[scheme](task.trained, task.test[0].shape[1]),
    )
    start = time.process_time()
    train_on_task(model, task, steps=STEPS, seed=seed, window=WINDOW.get(scheme))
    seconds = round(time.process_time() - start, 1)
    runs = [{"scheme": scheme, "cpu_seconds": seconds, **judged(model, task, scheme)}]
    if scheme == "RoPE":
        runs += [{"scheme": one, **judged(model, task, one, stretch=True)} for one in RESCALED]
    return [{"task": name, "seed": seed, **one} for one in runs]


def described(tasks: dict[str, LengthTask], seeds: int) -> Run:
    """Return what all runs share."""
    return {
        "steps": STEPS, "batch": 16, "learning_rate": 5e-3, "d_model": D_MODEL, "layers": LAYERS,
        "heads": NUM_HEADS, "seeds": seeds,
        "trained": {name: task.trained for name, task in tasks.items()},
        "judged": {name: task.judged for name, task in tasks.items()},
        "sequences": {name: len(task.test[0]) for name, task in tasks.items()}, "window": WINDOW,
    }  # fmt: skip


def main() -> None:
    """Run every combination that the record lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default 3)")
    parser.add_argument("--out", type=Path, default=RESULT, help="file to write and to go on from")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    runs: list[Run] = json.loads(options.out.read_text())["runs"] if options.out.exists() else []
    done = {(one["task"], one["scheme"], one["seed"]) for one in runs}
    tasks = {name: make() for name, make in TASKS.items()}
    settings = described(tasks, options.seeds)
    combinations = itertools.product(range(options.seeds), TASKS, TRAINED)

    def save() -> None:
        write_record(
            options.out,
            what="loss (nats) and accuracy on the same last tokens, by scheme and length read",
            command=f"python benchmarks/chapter_07_positions.py --seeds {options.seeds}",
            settings=settings,
            runs=runs,
        )

    for seed, name, scheme in tqdm(list(combinations), ncols=80):
        wanted = (scheme, *RESCALED) if scheme == "RoPE" else (scheme,)
        missing = {(name, one, seed) for one in wanted} - done
        if missing:
            found = run(name, tasks[name], scheme, seed)
            runs += [one for one in found if (name, one["scheme"], seed) in missing]
            save()
    save()


if __name__ == "__main__":
    main()
