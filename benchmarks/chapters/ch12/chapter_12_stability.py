"""Train a deep stack with and without warm-up, and one small model with four optimisers.

Method: one thread; characters of Python's help, next-token loss, no clipping, so that what warm-up
and the norm's place do is not hidden. `depth` runs have 12 layers of width 32; when they have been
trained, 1,024 positions that they were not trained on are read: `spread` is the standard deviation
of a log-probability over these positions, the mean over the characters (0: the same answer whatever
is read), `gradients` are those of that loss, by layer. `optimizer` runs are a GPT of two layers for
the same number of steps, with an inverse root after a warm-up; the rates go on until a higher one
is worse.

    python -m benchmarks.chapters.ch12.chapter_12_stability
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import mean

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.recording import Row, Script, bar
from course_utils.data import ALPHABET, CharacterText, character_text, random_windows
from course_utils.models import GPT, DeepStack
from course_utils.models.training import descend

STEPS, WARMUP = 150, 30
DEEP_RATE, DEEP_WARMUPS = 3e-3, (0, 30, 100)  # the first with every seed, the others with one
PARTS = 15  # of the steps, each with the mean of its losses
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "momentum": partial(torch.optim.SGD, momentum=0.9),
    "Adam": partial(torch.optim.Adam, betas=(0.9, 0.98)),
    "AdamW": partial(torch.optim.AdamW, betas=(0.9, 0.98), weight_decay=0.1),
}
RATES = {  # up to beyond the best, which is tried with every seed
    "SGD": (0.01, 0.1, 1.0, 3.0), "momentum": (0.001, 0.01, 0.1, 0.3, 1.0),
    "Adam": (0.0003, 0.003, 0.03, 0.1), "AdamW": (0.0003, 0.003, 0.03, 0.1),
}  # fmt: skip
BEST = {"SGD": 1.0, "momentum": 0.3, "Adam": 0.03, "AdamW": 0.03}


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


def deep(text: CharacterText, pre_norm: bool, warmup: int, seed: int) -> Row:
    """Train 12 layers; return the loss on the way, and what the layers pass on in the end."""
    torch.manual_seed(seed)
    model = DeepStack(len(ALPHABET), num_layers=12, pre_norm=pre_norm)
    generator = torch.Generator().manual_seed(seed)
    losses = descend(
        model, lambda: loss_on(model, text, generator, 8, 32),
        torch.optim.Adam(model.parameters(), betas=(0.9, 0.98)),
        steps=STEPS, learning_rate=DEEP_RATE, clip=None,
        rate=lambda step: min(1.0, step / warmup) if warmup else 1.0,
        progress=bar(f"pre {pre_norm}, {warmup}"),
    )  # fmt: skip
    each = max(1, STEPS // PARTS)
    inputs, targets = random_windows(text.validation, 32, 32, torch.Generator().manual_seed(0))
    logs = model(inputs).log_softmax(-1).flatten(0, 1)
    model.zero_grad()
    F.nll_loss(logs, targets.flatten()).backward()
    gradients = [layer.linear1.weight.grad.norm().item() for layer in model.layers]
    return {
        "what": "depth", "pre_norm": pre_norm, "warmup": warmup, "rate": DEEP_RATE, "seed": seed,
        "spread": round(logs.detach().std(0).mean().item(), 4), "every": each,
        "gradients": [round(one, 5) for one in gradients],
        "losses": [round(mean(losses[at : at + each]), 4) for at in range(0, STEPS, each)],
    }  # fmt: skip


def optimised(text: CharacterText, name: str, rate: float, seed: int) -> Row:
    """Train a small GPT with one optimiser and return where it ends."""
    torch.manual_seed(seed)
    model: nn.Module = GPT(len(ALPHABET), d_model=32, num_heads=2, num_layers=2, max_length=32)
    generator = torch.Generator().manual_seed(seed)
    losses = descend(
        model, lambda: loss_on(model.logits, text, generator, 16, 32),
        OPTIMIZERS[name](model.parameters(), lr=rate), steps=STEPS, learning_rate=rate, clip=None,
        rate=lambda step: min(step / WARMUP, (WARMUP / step) ** 0.5),
        progress=bar(f"{name}, {rate}"),
    )  # fmt: skip
    return {"what": "optimizer", "name": name, "rate": rate, "seed": seed, "loss": ends_at(losses)}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=2)
    text, seeds = character_text(), range(script.options.seeds)
    depths = [
        (text, pre_norm, warmup, seed)
        for pre_norm, warmup in product((False, True), DEEP_WARMUPS)
        for seed in (seeds if warmup == DEEP_WARMUPS[0] else seeds[:1])
    ]
    searched = [
        (text, name, rate, seed)
        for name, rates in RATES.items()
        for rate in rates
        for seed in (seeds if rate == BEST[name] else seeds[:1])
    ]
    runs = [deep(*case) for case in depths] + [optimised(*case) for case in searched]
    script.record(
        what="warm-up and the norm's place at depth 12; four optimisers at one budget",
        settings={"steps": STEPS, "warmup": WARMUP},
        runs=runs,
    )


if __name__ == "__main__":
    main()
