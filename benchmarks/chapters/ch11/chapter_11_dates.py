"""Train chapter 11's Transformers on chapter 02's dates, three seeds, and record what came out.

Encoder and decoder with one and two layers each, two layers in one stream under the masks of BERT,
GPT and a prefix, and one start with small positions; then the time of a training step against
chapter 02's GRU, by length; and twelve layers on Python's help, both orders of the norm with and
without warm-up. The notebook trains some live and shows them beside these. It takes a quarter of
an hour on one core:

    python -m benchmarks.chapters.ch11.chapter_11_dates
"""

from itertools import product
from statistics import mean
from typing import Any

import babel
import torch
from torch import nn

from benchmarks.chapters.ch02.chapter_02_dates import Task, judge
from benchmarks.recording import Row, Script, each
from benchmarks.timing import Call, clocked, in_rounds, training
from course_utils.data import (
    FIRST_SYMBOL,
    CharacterText,
    Pairs,
    character_text,
    repeat_pairs,
)
from course_utils.measure import count_flops
from course_utils.models import (
    AdditiveScore,
    AttentionContext,
    DeepStack,
    OneStream,
    Seq2Seq,
    Transformer,
    sequence_loss,
    train_deep_stack,
    train_seq2seq,
)

PAIRS, TESTED = 20_000, 2000
SETTINGS = {"steps": 1000, "batch": 64, "learning_rate": 6e-3}
SIZES = {"d_model": 64, "num_heads": 4, "d_ff": 256}
KINDS = ("1 + 1", "2 + 2", "bert", "gpt", "prefix")
LENGTHS, ROUNDS = (16, 64, 256), 5
DEEP_STEPS, DEEP_SEEDS, LAST = 150, 2, 30


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


def run(task: Task, kind: str, seed: int, spread: float) -> Row:
    """Train one model and judge it."""
    model = new_model(kind, (len(task.tokens.source), len(task.tokens.target)), seed, spread)
    learnt = training(train_seq2seq, model, task.training, seed=seed, **SETTINGS)
    some = task.test[:64]
    return {
        "model": kind, "positions": spread, "seed": seed,
        **judge(model, task.tested, task.test), **learnt,
        "flops_forward": count_flops(model, some.source, some.target),
    }  # fmt: skip


def gru(alphabets: tuple[int, int]) -> Seq2Seq:
    """Return chapter 02's model with additive attention, untrained."""
    context = AttentionContext(AdditiveScore(64, 64, 64))
    return Seq2Seq(num_source=alphabets[0], num_target=alphabets[1], context=context, width=64)


def step_of(model: nn.Module, pairs: Pairs) -> Call:
    """Return one training step: forward, backward and update."""
    optimiser = torch.optim.Adam(model.parameters())

    def step() -> None:
        loss = sequence_loss(model(pairs.source, pairs.target), pairs.target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def steps_by_length() -> list[Row]:
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
        steps = {name: step_of(model, pairs) for name, model in models.items()}
        rows += [
            {"model": name, "length": length, "milliseconds": round(1000 * min(seconds), 2)}
            for name, seconds in in_rounds(steps, ROUNDS, 0.0).items()
        ]
    return rows


def deep(text: CharacterText, learning_rate: float, pre_norm: bool, warm_up: int, seed: int) -> Row:
    """Train twelve layers."""
    torch.manual_seed(seed)
    model = DeepStack(text.num_characters, num_layers=12, pre_norm=pre_norm)
    how = {"warm_up": warm_up, "learning_rate": learning_rate, "seed": seed}
    losses, seconds = clocked(train_deep_stack, model, text, steps=DEEP_STEPS, **how)
    return {
        "order": "pre-norm" if pre_norm else "post-norm", **how,
        "loss": round(mean(losses[-LAST:]), 3), "cpu_seconds": seconds,
    }  # fmt: skip


def main() -> None:
    """Run every combination and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    task = Task(PAIRS, TESTED)
    cases = [(task, kind, seed, 1.0) for seed in range(script.options.seeds) for kind in KINDS]
    runs = each(run, [*cases, (task, "1 + 1", 0, 0.02)])
    depths = product([character_text()], (3e-3, 1e-3), (True, False), (0, 100), range(DEEP_SEEDS))
    script.record(
        what="dates as people write them to YYYY-MM-DD, by Transformers of three wirings",
        settings={**SETTINGS, **SIZES, "pairs": PAIRS, "tested": TESTED},
        versions={"babel": babel.__version__},
        steps=steps_by_length(),
        warm_up=each(deep, depths),
        runs=runs,
    )


if __name__ == "__main__":
    main()
