"""Train chapter 01's model to copy, with a fixed context and with attention, and record it.

Accuracy by source length for several context sizes, and the gradient that reaches the first source
symbol before and after training; three seeds. The notebook trains one seed live and shows it
beside this record. It takes about a quarter of an hour on one core; `--long` trains one fixed
context 8 times longer:

    python -m benchmarks.chapters.ch01.chapter_01_bottleneck --long
"""

from collections.abc import Callable

import torch

from benchmarks.recording import Row, Script, each
from benchmarks.timing import training
from course_utils.attention import dot_score
from course_utils.data import FIRST_SYMBOL, PAD, Pairs, repeat_pairs
from course_utils.measure import exact_match
from course_utils.models import (
    AttentionContext,
    Context,
    FixedContext,
    Seq2Seq,
    source_gradients,
    token_accuracy,
    train_seq2seq,
    write_all,
)

SYMBOLS, LONGEST, TESTED = 10, 40, 200
LENGTHS = (2, 5, 10, 15, 20, 25, 30, 35, 40, 50)
SETTINGS = {"steps": 1000, "batch": 64, "learning_rate": 3e-3}
CONTEXTS: dict[str, Callable[[], Context]] = {
    "fixed": FixedContext,
    "attention": lambda: AttentionContext(dot_score),
}
SIZES = [("fixed", 16), ("fixed", 32), ("fixed", 64), ("fixed", 128)]
SIZES += [("attention", 16), ("attention", 32), ("attention", 64)]
LONG_STEPS = 8000


def training_pairs(steps: int) -> Pairs:
    """Draw as many pairs as are needed, so that none is seen twice."""
    generator = torch.Generator().manual_seed(0)
    count = steps * int(SETTINGS["batch"])
    lengths = torch.randint(1, LONGEST + 1, (count,), generator=generator)
    return repeat_pairs(lengths, generator, num_symbols=SYMBOLS)


def test_pairs(length: int) -> Pairs:
    """Draw the fixed set of test pairs of one length."""
    generator = torch.Generator().manual_seed(1000 + length)
    return repeat_pairs(torch.full((TESTED,), length), generator, num_symbols=SYMBOLS)


def new_model(kind: str, width: int, seed: int) -> Seq2Seq:
    """Return an untrained model whose encoder reads from left to right."""
    torch.manual_seed(seed)
    size = FIRST_SYMBOL + SYMBOLS
    return Seq2Seq(
        num_source=size,
        num_target=size,
        width=width,
        context=CONTEXTS[kind](),
        bidirectional=False,
    )


def gradients(model: Seq2Seq) -> dict[str, dict[int, float]]:
    """Return what reaches the first source symbol from the loss of its copy, by length.

    Both as it is, and as a share of what reaches all source symbols: once a model is sure, its loss
    pulls at nothing, and only the share still says where it looks.
    """
    reached, share = {}, {}
    for length in LENGTHS:
        strengths = source_gradients(model, test_pairs(length)).mean(dim=0)
        reached[length] = float(f"{strengths[0]:.3g}")
        share[length] = float(f"{strengths[0] / strengths.sum():.3g}")
    return {"reached": reached, "share": share}


def run(kind: str, width: int, seed: int, steps: int) -> Row:
    """Train one model and judge it at every length."""
    model, pairs = new_model(kind, width, seed), training_pairs(steps)
    before = gradients(model)
    trained = training(train_seq2seq, model, pairs, seed=seed, **{**SETTINGS, "steps": steps})
    tokens, whole = {}, {}
    for length in LENGTHS:
        test = test_pairs(length)
        written = write_all(model, test).tokens
        tokens[length] = round(token_accuracy(written, test.target), 4)
        whole[length] = round(exact_match(written, test.target[:, 1:], PAD), 4)
    return {
        "context": kind, "width": width, "seed": seed, "steps": steps, **trained,
        "token_accuracy": tokens, "exact_match": whole,
        "gradient_before": before, "gradient_after": gradients(model),
    }  # fmt: skip


def main() -> None:
    """Run every combination and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3, long=False)
    steps = int(SETTINGS["steps"])
    combinations = [(*size, seed, steps) for size in SIZES for seed in range(script.options.seeds)]
    if script.options.long:
        combinations.append(("fixed", 64, 0, LONG_STEPS))
    script.record(
        what="copying random symbols: accuracy by source length, and the first symbol's gradient",
        settings={
            **SETTINGS, "symbols": SYMBOLS, "trained_lengths": [1, LONGEST], "tested": TESTED,
        },
        runs=each(run, combinations),
    )  # fmt: skip


if __name__ == "__main__":
    main()
