"""Train chapter 07's small model with each scheme of positions on two tasks, and test it longer.

Text: characters of Python's help, learnt 64 at a time, read up to 512. Copy: the symbol of three
places ago, learnt in sequences of 32, read up to 256. At each length the same last tokens are
judged: half as many as a training sequence has. The stretched kinds of RoPE are the trained RoPE
models with other frequencies, without any more training.

It takes about a quarter of an hour on one core:

    python -m benchmarks.chapters.ch07.chapter_07_positions
"""

from collections.abc import Callable
from itertools import product

import torch
from tqdm import tqdm

from benchmarks.recording import Row, Script
from benchmarks.timing import clocked
from course_utils.data import character_text
from course_utils.models import (
    LengthTask,
    PositionedTransformer,
    copy_task,
    judge_on_task,
    text_task,
    train_on_task,
)
from course_utils.models.gpt.named_schemes import (
    D_MODEL,
    NUM_HEADS,
    RESCALED,
    TRAINED,
    WINDOW,
    rescaled_rope,
)

STEPS, LAYERS, TIMES = 600, 2, (1, 1.5, 2, 4, 8)
TASKS: dict[str, Callable[[], LengthTask]] = {
    "text": lambda: text_task(character_text()),
    "copy": copy_task,
}


def judged(
    model: PositionedTransformer, task: LengthTask, scheme: str, stretch: bool = False
) -> Row:
    """Return loss and accuracy at each length; where asked, RoPE is stretched to each first."""
    found: Row = {"loss": {}, "accuracy": {}}
    for times in TIMES:
        length = int(times * task.trained)
        if stretch:
            model.positions = rescaled_rope(scheme, task.trained, length)
        loss, accuracy = judge_on_task(model, task, length, WINDOW.get(scheme))
        found["loss"][length], found["accuracy"][length] = round(loss, 4), round(accuracy, 4)
    return found


def run(name: str, task: LengthTask, scheme: str, seed: int) -> list[Row]:
    """Train one model and judge it; RoPE's is judged with each way of stretching it too."""
    torch.manual_seed(seed)
    model = PositionedTransformer(
        task.num_tokens,
        d_model=D_MODEL,
        num_heads=NUM_HEADS,
        num_layers=LAYERS,
        positions=TRAINED[scheme](task.trained, task.test[0].shape[1]),
    )
    window = WINDOW.get(scheme)
    _, seconds = clocked(train_on_task, model, task, steps=STEPS, seed=seed, window=window)
    runs = [{"scheme": scheme, "cpu_seconds": seconds, **judged(model, task, scheme)}]
    if scheme == "RoPE":
        runs += [{"scheme": one, **judged(model, task, one, stretch=True)} for one in RESCALED]
    return [{"task": name, "seed": seed, **one} for one in runs]


def described(tasks: dict[str, LengthTask], seeds: int) -> Row:
    """Return what all runs share."""
    return {
        "steps": STEPS, "batch": 16, "learning_rate": 5e-3, "d_model": D_MODEL, "layers": LAYERS,
        "heads": NUM_HEADS, "seeds": seeds,
        "trained": {name: task.trained for name, task in tasks.items()},
        "judged": {name: task.judged for name, task in tasks.items()},
        "sequences": {name: len(task.test[0]) for name, task in tasks.items()}, "window": WINDOW,
    }  # fmt: skip


def main() -> None:
    """Run every combination and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    torch.set_flush_denormal(True)
    tasks = {name: make() for name, make in TASKS.items()}
    runs: list[Row] = []
    for seed, name, scheme in tqdm([*product(range(script.options.seeds), TASKS, TRAINED)]):
        runs += run(name, tasks[name], scheme, seed)
    script.record(
        what="loss (nats) and accuracy on the same last tokens, by scheme and length read",
        settings=described(tasks, script.options.seeds),
        runs=runs,
    )


if __name__ == "__main__":
    main()
