"""Train the dates' Transformer of chapter 12 with smoothed labels, and in fewer bits.

Method: one thread; a Transformer of 1 + 1 layers, width 64, on 20,000 dates, judged on 1,000 of
days that training never saw. `smoothing` runs take the rates of `train_seq2seq` up to 6e-3;
`curve` holds what was judged on the way. `precision` runs are the same model at 3e-3 for half as
long: in float32, under autocast to bfloat16, and with bfloat16 weights.

    python -m benchmarks.chapters.ch12.chapter_12_dates
"""

import math
from collections.abc import Callable
from dataclasses import asdict

import torch
from torch import nn

from benchmarks.chapters.ch02.chapter_02_dates import Task
from benchmarks.recording import Row, Script, bar
from benchmarks.timing import clocked
from course_utils.data import DateTokens, Pairs
from course_utils.models import (
    Autocast,
    Transformer,
    judge_writing,
    label_smoothed_loss,
    train_seq2seq,
)

STEPS, READ_AT = 800, (50, 100, 150, 200, 250, 300, 400, 500, 600, 800)
SHORT, DATES, JUDGED = 400, 20_000, 1000


class Widened(nn.Module):
    """A model of few bits whose logits are judged in float32."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model.bfloat16()

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the logits in float32."""
        return self.model(source, target).float()  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "float32": lambda model: model, "autocast": Autocast, "bfloat16 weights": Widened,
}  # fmt: skip


def fresh(tokens: DateTokens, seed: int) -> Transformer:
    """Return the model before training."""
    torch.manual_seed(seed)
    return Transformer(len(tokens.source), len(tokens.target), d_model=64, num_heads=4)


def judged(model: nn.Module, pairs: Pairs) -> dict[str, float]:
    """Return the judgement, rounded."""
    return {name: round(value, 5) for name, value in asdict(judge_writing(model, pairs)).items()}


def smoothed(tokens: DateTokens, pairs: Pairs, test: Pairs, smoothing: float, seed: int) -> Row:
    """Train with smoothed labels and return what was judged on the way."""
    model, seen, curve = fresh(tokens, seed), [], []

    def loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return label_smoothed_loss(logits, target[:, 1:], smoothing, 0)

    def note(value: float) -> None:
        seen.append(value)
        if len(seen) in READ_AT:
            curve.append({"step": len(seen), **judged(model, test)})

    _, seconds = clocked(
        train_seq2seq, model, pairs, steps=STEPS, seed=seed, learning_rate=6e-3, loss=loss,
        watch=note, progress=bar(f"smoothing {smoothing} {seed}"),
    )  # fmt: skip
    tail = seen[-50:]
    return {
        "what": "smoothing", "smoothing": smoothing, "seed": seed,
        "cpu_seconds": seconds,
        "training_loss": round(sum(tail) / len(tail), 4), "curve": curve,
    }  # fmt: skip


def in_fewer_bits(tokens: DateTokens, pairs: Pairs, test: Pairs, way: str, seed: int) -> Row:
    """Train in one of WAYS and return how it ended."""
    model = WAYS[way](fresh(tokens, seed))
    losses, seconds = clocked(
        train_seq2seq, model, pairs, steps=SHORT, seed=seed, learning_rate=3e-3,
        progress=bar(f"{way}, seed {seed}"),
    )  # fmt: skip
    return {
        "what": "precision", "way": way, "seed": seed, "steps": SHORT,
        "cpu_seconds": seconds, **judged(model, test),
        "finite": math.isfinite(sum(losses)),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=1)
    task = Task(DATES, JUDGED)
    given = task.tokens, task.training, task.test
    seeds = range(script.options.seeds)
    runs = [smoothed(*given, smoothing, seed) for seed in seeds for smoothing in (0.0, 0.1)]
    runs += [in_fewer_bits(*given, way, seed) for seed in seeds for way in WAYS]
    script.record(
        what="a Transformer that reads dates: smoothed labels, fewer bits",
        settings={"steps": STEPS, "dates": DATES},
        runs=runs,
    )


if __name__ == "__main__":
    main()
