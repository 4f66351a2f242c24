"""Train a deep stack with and without warm-up, and one small model with four optimisers.

Method: one thread; characters of Python's help, next-token loss, no clipping, so that what warm-up
and the norm's place do is not hidden. `depth` runs have 12 layers of width 32; their gradients are
those of the first step, by layer. `optimizer` runs are a GPT of two layers for the same number of
steps, with an inverse root after a warm-up; each has three rates, a factor of ten apart.

    .venv/bin/python benchmarks/chapter_12_stability.py
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from recording import RESULTS, write_record
from timing import processor
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from course_utils.data import ALPHABET, CharacterText, character_text, random_windows
from course_utils.models import GPT, DeepStack
from course_utils.models.training import descend

DEEP_STEPS, DEEP_RATES, STEPS, WARMUP = 120, (1e-3, 3e-3, 1e-2), 150, 30
OPTIMIZERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], tuple[float, ...]]] = {
    "SGD": (torch.optim.SGD, (0.01, 0.1, 1.0)),
    "momentum": (partial(torch.optim.SGD, momentum=0.9), (0.001, 0.01, 0.1)),
    "Adam": (partial(torch.optim.Adam, betas=(0.9, 0.98)), (0.0003, 0.003, 0.03)),
    "AdamW": (
        partial(torch.optim.AdamW, betas=(0.9, 0.98), weight_decay=0.1), (0.0003, 0.003, 0.03)
    ),
}  # fmt: skip


def loss_on(
    logits: Callable[[torch.Tensor], torch.Tensor],
    text: CharacterText,
    generator: torch.Generator,
    batch: int,
    length: int,
) -> torch.Tensor:
    """Return the loss on windows that are drawn anew."""
    inputs, targets = random_windows(text.train, length, batch, generator)
    return F.cross_entropy(logits(inputs).flatten(0, 1), targets.flatten())


def ends_at(losses: list[float]) -> float | None:
    """Return the mean of the last tenth, or None where a loss was not finite."""
    tail = losses[-max(1, len(losses) // 10) :]
    return round(mean(tail), 4) if math.isfinite(sum(losses)) else None


def deep(text: CharacterText, pre_norm: bool, warmup: int, rate: float) -> dict[str, Any]:
    """Train 12 layers; return the loss of each tenth of the steps, and the first gradients."""
    torch.manual_seed(0)
    model = DeepStack(len(ALPHABET), num_layers=12, pre_norm=pre_norm)
    generator = torch.Generator().manual_seed(0)
    loss_on(model, text, generator, 8, 32).backward()
    first = [layer.linear1.weight.grad.norm().item() for layer in model.layers]
    losses = descend(
        model, lambda: loss_on(model, text, generator, 8, 32),
        torch.optim.Adam(model.parameters(), betas=(0.9, 0.98)),
        steps=DEEP_STEPS, learning_rate=rate, clip=None,
        rate=lambda step: min(1.0, step / warmup) if warmup else 1.0,
        progress=partial(tqdm, desc=f"pre {pre_norm}, {warmup}, {rate}", ncols=80, mininterval=20),
    )  # fmt: skip
    each = max(1, DEEP_STEPS // 10)
    return {
        "what": "depth", "pre_norm": pre_norm, "warmup": warmup, "rate": rate, "seed": 0,
        "first_gradients": [round(one, 5) for one in first], "every": each,
        "losses": [round(mean(losses[at : at + each]), 4) for at in range(0, DEEP_STEPS, each)],
    }  # fmt: skip


def optimised(text: CharacterText, name: str, rate: float, seed: int) -> dict[str, Any]:
    """Train a small GPT with one optimiser and return where it ends."""
    make, _ = OPTIMIZERS[name]
    torch.manual_seed(seed)
    model: nn.Module = GPT(len(ALPHABET), d_model=32, num_heads=2, num_layers=2, max_length=32)
    generator = torch.Generator().manual_seed(seed)
    losses = descend(
        model, lambda: loss_on(model.logits, text, generator, 16, 32),
        make(model.parameters(), lr=rate), steps=STEPS, learning_rate=rate, clip=None,
        rate=lambda step: min(step / WARMUP, (WARMUP / step) ** 0.5),
        progress=partial(tqdm, desc=f"{name}, {rate}", ncols=80, mininterval=20),
    )  # fmt: skip
    return {"what": "optimizer", "name": name, "rate": rate, "seed": seed, "loss": ends_at(losses)}


def main() -> None:
    """Train all models and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="of the optimisers (default 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    text = character_text()
    runs = [
        deep(text, pre_norm, warmup, rate)
        for rate in DEEP_RATES
        for pre_norm in (False, True)
        for warmup in (0, WARMUP)
    ]
    runs += [
        optimised(text, name, rate, seed)
        for seed in range(options.seeds)
        for name, (_, rates) in OPTIMIZERS.items()
        for rate in rates
    ]
    write_record(
        options.out / "chapter_12_stability.json",
        what="warm-up and the norm's place at depth 12; four optimisers at one budget",
        command=f"python benchmarks/chapter_12_stability.py --seeds {options.seeds}",
        settings={
            "deep_steps": DEEP_STEPS, "steps": STEPS, "warmup": WARMUP, "processor": processor(),
        },
        runs=runs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
