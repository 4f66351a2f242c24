"""Read earlier symbols out of the encoder's state after every step of a source, and record it.

Chapter 01's model with a fixed context, width 64, trained as there. After each symbol of a source a
linear readout, fitted by ridge regression on other sources, names every symbol read so far from
the 64 numbers of the state alone; its share of right answers is counted on new sources. The states
and the readings of a few sources are kept whole, for the widget. It takes a minute:

    python -m benchmarks.chapters.ch01.chapter_01_overwriting
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch01.chapter_01_bottleneck import (
    SETTINGS,
    SYMBOLS,
    new_model,
    training_pairs,
)
from benchmarks.recording import Row, Script
from benchmarks.timing import training
from course_utils.data import FIRST_SYMBOL, repeat_pairs
from course_utils.models import Seq2Seq, train_seq2seq

WIDTH, LENGTH = 64, 20
FITTED, TESTED, SHOWN = 8000, 2000, 4
RIDGE = 1e-2


def sources(count: int, seed: int) -> Tensor:
    """Draw sources of one length, (count, LENGTH), symbols from 0."""
    generator = torch.Generator().manual_seed(seed)
    pairs = repeat_pairs(torch.full((count,), LENGTH), generator, num_symbols=SYMBOLS)
    return pairs.source - FIRST_SYMBOL


@torch.no_grad()
def states_of(model: Seq2Seq, symbols: Tensor) -> Tensor:
    """Return the encoder's states, (N, LENGTH, WIDTH), in float64."""
    return model.encoder(symbols + FIRST_SYMBOL).states.double()


def readout(states: Tensor, symbols: Tensor) -> Tensor:
    """Fit the matrix that names all symbols from a state and a one, by ridge regression."""
    x = F.pad(states, (0, 1), value=1.0)
    y = F.one_hot(symbols, SYMBOLS).flatten(1).double()
    return torch.linalg.solve(x.mT @ x + RIDGE * len(x) * torch.eye(x.shape[1]), x.mT @ y)


def read(states: Tensor, matrix: Tensor) -> Tensor:
    """Name the symbols: the largest score at each place."""
    scores = F.pad(states, (0, 1), value=1.0) @ matrix
    return scores.unflatten(-1, (-1, SYMBOLS)).argmax(dim=-1)


def run() -> tuple[Row, list[Row]]:
    """Train the model, and read its states after every step."""
    model = new_model("fixed", WIDTH, 0)
    steps = int(SETTINGS["steps"])
    trained = training(train_seq2seq, model, training_pairs(steps), seed=0, **SETTINGS)
    fitted, tested = sources(FITTED, 1), sources(TESTED, 2)
    known, new = states_of(model, fitted), states_of(model, tested)
    shares, named = [], []
    for step in range(LENGTH):
        matrix = readout(known[:, step], fitted[:, : step + 1])
        answers = read(new[:, step], matrix)
        shares.append((answers == tested[:, : step + 1]).double().mean(dim=0).round(decimals=3))
        named.append(answers[:SHOWN])
    examples = [
        {
            "source": tested[i].tolist(),
            "states": new[i].mul(100).round().int().tolist(),
            "named": [answers[i].tolist() for answers in named],
        }
        for i in range(SHOWN)
    ]
    result = {"context": "fixed", "width": WIDTH, "seed": 0, "steps": steps, **trained}
    return {**result, "shares": [share.tolist() for share in shares]}, examples


def main() -> None:
    """Write one JSON file."""
    script = Script(__file__, __doc__)
    result, examples = run()
    script.record(
        what="which symbols can be read out of a fixed context's state after every step",
        settings={
            **SETTINGS, "symbols": SYMBOLS, "length": LENGTH, "fitted": FITTED, "tested": TESTED,
            "ridge": RIDGE,
        },
        runs=[result],
        examples=examples,
    )  # fmt: skip


if __name__ == "__main__":
    main()
