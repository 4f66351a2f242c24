"""Train the dates' Transformer of chapter 12 with smoothed labels, and in fewer bits.

Method: one thread; a Transformer of 1 + 1 layers, width 64, on 20,000 dates, judged on 1,000 of
days that training never saw. `smoothing` runs take the rates of `train_seq2seq` up to 6e-3;
`curve` holds what was judged on the way. `precision` runs are the same model at 3e-3 for half as
long: in float32, under autocast to bfloat16, and with bfloat16 weights.

    .venv/bin/python benchmarks/chapter_12_dates.py
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from timing import processor
from torch import nn
from tqdm import tqdm

from course_utils.data import DateTokens, Pairs, sample_dates
from course_utils.models import (
    Autocast,
    Transformer,
    judge_writing,
    label_smoothed_loss,
    sequence_loss,
    train_seq2seq,
)

STEPS, READ_AT = 800, (50, 100, 150, 200, 250, 300, 400, 500, 600, 800)
SHORT, JUDGED = 400, 1000
WAYS = ("float32", "autocast", "bfloat16 weights")


class Widened(nn.Module):
    """A model of few bits whose logits are judged in float32."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model.bfloat16()

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the logits in float32."""
        return self.model(source, target).float()  # type: ignore[no-any-return]


def fresh(tokens: DateTokens, seed: int) -> Transformer:
    """Return the model before training."""
    torch.manual_seed(seed)
    return Transformer(len(tokens.source), len(tokens.target), d_model=64, num_heads=4)


def judged(model: nn.Module, pairs: Pairs) -> dict[str, float]:
    """Return the judgement, rounded."""
    return {name: round(value, 5) for name, value in asdict(judge_writing(model, pairs)).items()}


def smoothed(
    tokens: DateTokens, pairs: Pairs, test: Pairs, smoothing: float, seed: int
) -> dict[str, Any]:
    """Train with smoothed labels and return what was judged on the way."""
    model, seen, curve = fresh(tokens, seed), [], []

    def loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return label_smoothed_loss(logits, target[:, 1:], smoothing, 0)

    def note(value: float) -> None:
        seen.append(value)
        if len(seen) in READ_AT:
            curve.append({"step": len(seen), **judged(model, test)})

    start = time.process_time()
    train_seq2seq(
        model, pairs, steps=STEPS, seed=seed, learning_rate=6e-3, loss=loss, watch=note,
        progress=partial(tqdm, desc=f"smoothing {smoothing} {seed}", ncols=80, mininterval=20),
    )  # fmt: skip
    tail = seen[-min(50, len(seen)) :]
    return {
        "what": "smoothing", "smoothing": smoothing, "seed": seed,
        "cpu_seconds": round(time.process_time() - start, 1),
        "training_loss": round(sum(tail) / len(tail), 4), "curve": curve,
    }  # fmt: skip


def in_fewer_bits(
    tokens: DateTokens, pairs: Pairs, test: Pairs, way: str, seed: int
) -> dict[str, Any]:
    """Train in one of WAYS and return how it ended."""
    inner = fresh(tokens, seed)
    model = {"float32": lambda: inner, "autocast": lambda: Autocast(inner)}.get(
        way, lambda: Widened(inner)
    )()
    start = time.process_time()
    losses = train_seq2seq(
        model, pairs, steps=SHORT, seed=seed, learning_rate=3e-3, loss=sequence_loss,
        progress=partial(tqdm, desc=f"{way}, seed {seed}", ncols=80, mininterval=20),
    )  # fmt: skip
    return {
        "what": "precision", "way": way, "seed": seed, "steps": SHORT,
        "cpu_seconds": round(time.process_time() - start, 1), **judged(model, test),
        "finite": math.isfinite(sum(losses)),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how many of each (default 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    written = sample_dates(20_000, torch.Generator().manual_seed(0))
    tokens = DateTokens.of(written)
    draw = torch.Generator().manual_seed(1)
    test = tokens.pairs(sample_dates(JUDGED, draw, held_out=True))
    given = tokens, tokens.pairs(written), test
    seeds = range(options.seeds)
    runs = [smoothed(*given, smoothing, seed) for seed in seeds for smoothing in (0.0, 0.1)]
    runs += [in_fewer_bits(*given, way, seed) for seed in seeds for way in WAYS]
    write_record(
        options.out / "chapter_12_dates.json",
        what="a Transformer that reads dates: smoothed labels, fewer bits",
        command=f"python benchmarks/chapter_12_dates.py --seeds {options.seeds}",
        settings={"steps": STEPS, "dates": len(written), "processor": processor()},
        runs=runs,
    )


if __name__ == "__main__":
    main()
