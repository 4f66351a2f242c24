"""Train chapter 11's Transformers on chapter 02's dates, three seeds, and record what came out.

Encoder and decoder with one and two layers each, two layers in one stream under the masks of BERT,
GPT and a prefix, and one start with small positions; then the time of a training step against
chapter 02's GRU, by length; and twelve layers on Python's help, both orders of the norm with and
without warm-up. The notebook trains some live and shows them beside these. It takes a quarter of
an hour on one core:

    python benchmarks/chapter_11_dates.py
"""

from __future__ import annotations

import argparse
import itertools
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import babel
import torch
from recording import RESULTS, write_record
from torch import nn

from course_utils.data import (
    FIRST_SYMBOL,
    PAD,
    DateTokens,
    Pairs,
    character_text,
    field_mask,
    repeat_pairs,
    sample_dates,
)
from course_utils.measure import count_flops, exact_match
from course_utils.models import (
    AdditiveScore,
    AttentionContext,
    DeepStack,
    OneStream,
    Seq2Seq,
    Transformer,
    field_mass,
    sequence_loss,
    token_accuracy,
    train_deep_stack,
    train_seq2seq,
    write_all,
)

PAIRS, TESTED = 20_000, 2000
SETTINGS = {"steps": 1000, "batch": 64, "learning_rate": 6e-3}
SIZES = {"d_model": 64, "num_heads": 4, "d_ff": 256}
KINDS = ("1 + 1", "2 + 2", "bert", "gpt", "prefix")
LENGTHS, ROUNDS = (16, 64, 256), 5
DEEP_STEPS, DEEP_SEEDS, LAST = 150, 2, 30


class Task:
    """The training pairs and the held-out ones: those of chapter 02's record."""

    def __init__(self) -> None:
        learnt = sample_dates(PAIRS, torch.Generator().manual_seed(0))
        self.tokens = DateTokens.of(learnt)
        self.training = self.tokens.pairs(learnt)
        self.tested = sample_dates(TESTED, torch.Generator().manual_seed(1), held_out=True)
        self.test = self.tokens.pairs(self.tested)


def new_model(kind: str, alphabets: tuple[int, int], seed: int, spread: float = 1.0) -> nn.Module:
    """Return an untrained model; `spread` is the standard deviation of its positions."""
    torch.manual_seed(seed)
    if "+" in kind:
        readers, writers = map(int, kind.split(" + "))
        model: Any = Transformer(*alphabets, **SIZES, num_layers=(readers, writers))
    else:
        model = OneStream(*alphabets, kind, **SIZES, num_layers=2)
    for positions in (model.source_positions, model.target_positions):
        nn.init.normal_(positions.table.weight, std=spread)
    return model  # type: ignore[no-any-return]


def run(kind: str, seed: int, spread: float) -> dict[str, Any]:
    """Train one model and judge it."""
    torch.set_num_threads(1)
    task = Task()
    model = new_model(kind, (len(task.tokens.source), len(task.tokens.target)), seed, spread)
    start = time.process_time()
    losses = train_seq2seq(model, task.training, seed=seed, **SETTINGS)  # type: ignore[arg-type]
    seconds = time.process_time() - start
    written, some = write_all(model, task.test), task.test[:64]
    result = {
        "model": kind, "positions": spread, "seed": seed,
        "exact_match": round(exact_match(written.tokens, task.test.target[:, 1:], PAD), 4),
        "token_accuracy": round(token_accuracy(written.tokens, task.test.target), 4),
        "parameters": sum(tensor.numel() for tensor in model.parameters()),
        "cpu_seconds": round(seconds, 1), "last_loss": round(sum(losses[-50:]) / 50, 4),
        "flops_forward": count_flops(model, some.source, some.target),
    }  # fmt: skip
    if written.weights is not None:
        mask = field_mask(task.tested, task.test.source.shape[1])
        result["field_mass"] = round(field_mass(written.weights, mask), 4)
    print(result, flush=True)  # a line as soon as it is known
    return result


def gru(alphabets: tuple[int, int]) -> Seq2Seq:
    """Return chapter 02's model with additive attention, untrained."""
    context = AttentionContext(AdditiveScore(64, 64, 64))
    return Seq2Seq(num_source=alphabets[0], num_target=alphabets[1], context=context, width=64)


def step_seconds(model: nn.Module, pairs: Pairs) -> float:
    """Return the processor time of one training step: forward, backward and update."""
    optimiser = torch.optim.Adam(model.parameters())
    start = time.process_time()
    loss = sequence_loss(model(pairs.source, pairs.target), pairs.target)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return time.process_time() - start


def steps_by_length() -> list[dict[str, Any]]:
    """Time a training step on 16 sequences of each length, the best of some rounds in turn."""
    torch.manual_seed(0)
    alphabets = FIRST_SYMBOL + 10, FIRST_SYMBOL + 10
    models = {
        "GRU, additive": gru(alphabets),
        **{
            kind: Transformer(*alphabets, **SIZES, num_layers=(n, n), max_length=max(LENGTHS) + 2)
            for kind, n in (("1 + 1", 1), ("2 + 2", 2))
        },
    }
    rows = []
    for length in LENGTHS:
        pairs = repeat_pairs(torch.full((16,), length), torch.Generator().manual_seed(0))
        best = dict.fromkeys(models, float("inf"))
        for _ in range(ROUNDS):
            for name, model in models.items():
                best[name] = min(best[name], step_seconds(model, pairs))
        rows += [
            {"model": name, "length": length, "milliseconds": round(1000 * seconds, 2)}
            for name, seconds in best.items()
        ]
    return rows


def deep_runs() -> list[dict[str, Any]]:
    """Train twelve layers of both orders, with and without warm-up, at two rates."""
    text, rows = character_text(), []
    settings = itertools.product((3e-3, 1e-3), (True, False), (0, 100), range(DEEP_SEEDS))
    for learning_rate, pre_norm, warm_up, seed in settings:
        torch.manual_seed(seed)
        model = DeepStack(text.num_characters, num_layers=12, pre_norm=pre_norm)
        how: dict[str, Any] = {"warm_up": warm_up, "learning_rate": learning_rate, "seed": seed}
        start = time.process_time()
        losses = train_deep_stack(model, text, steps=DEEP_STEPS, **how)
        seconds = time.process_time() - start
        row = {
            "order": "pre-norm" if pre_norm else "post-norm", **how,
            "loss": round(sum(losses[-LAST:]) / len(losses[-LAST:]), 3),
            "cpu_seconds": round(seconds, 1),
        }  # fmt: skip
        print(row, flush=True)
        rows.append(row)
    return rows


def main() -> None:
    """Run every combination and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default 3)")
    parser.add_argument("--jobs", type=int, default=1, help="models trained at once (default 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    combinations = [(kind, seed, 1.0) for seed in range(options.seeds) for kind in KINDS]
    combinations.append(("1 + 1", 0, 0.02))
    if options.jobs == 1:
        runs = [run(*one) for one in combinations]
    else:
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            runs = list(pool.map(run, *zip(*combinations, strict=True)))
    write_record(
        options.out / "chapter_11_dates.json",
        what="dates as people write them to YYYY-MM-DD, by Transformers of three wirings",
        command=f"python benchmarks/chapter_11_dates.py --seeds {options.seeds}",
        settings={**SETTINGS, **SIZES, "pairs": PAIRS, "tested": TESTED},
        versions={"babel": babel.__version__},
        steps=steps_by_length(),
        warm_up=deep_runs(),
        runs=runs,
    )


if __name__ == "__main__":
    main()
