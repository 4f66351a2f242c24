"""Ask when a cache needs the first tokens: two kinds of text, with a start token and without.

Method: one thread. Four models of chapter_16_long's size and steps, on sequences of 64: plain text
or segments of random symbols that repeat, each with a start token in front of every sequence or
without one. They read texts of 512 through a cache of 64 keys, a window or a window and four sinks,
rotated by place; loss from token 64 on. Of segments, second copies and first copies are judged
apart: what a first copy says can only be guessed, with the loss ln 32 = 3.47. For these the mean
probability of the likeliest symbol is recorded too, and how often it is right. `on_first` is the
weight on the first token, by layer and head, of three spans of queries: in segments a first copy,
its second copy, and the first copy of the next segment. Five minutes on one core:

    python -m benchmarks.chapters.ch16.chapter_16_sinks
"""

from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch16.chapter_16_long import (
    COPIED,
    D_MODEL,
    NUM_HEADS,
    STEPS,
    TRAINED,
    trained,
)  # fmt: skip
from benchmarks.recording import Row, Script, each, rounded
from course_utils.attention import causal_mask
from course_utils.data import character_text, random_windows
from course_utils.data.repeated import START_SYMBOL, SYMBOLS, repeated_segments
from course_utils.models import LengthTask
from course_utils.models.gpt.streaming_model import stream_text

STREAMED, TEXTS, BATCH = 512, 16, 16
RATE = {"text": 5e-3, "segments": 3e-3}
SPANS = ((2, 15), (17, 31), (33, 47))  # in segments a first copy, its second, a fresh first
CACHES = {"window of 64": (64, 0), "window of 60, 4 sinks": (60, 4)}


def pair(tokens: Tensor, start: int | None) -> tuple[Tensor, Tensor]:
    """Return tokens and targets, behind a start token if there is one."""
    if start is not None:
        tokens = torch.cat([torch.full_like(tokens[:, :1], start), tokens[:, :-1]], dim=1)
    return tokens[:, :-1], tokens[:, 1:]


def text(with_start: bool) -> LengthTask:
    """Predict the next character of windows that begin anywhere."""
    known = character_text()
    start = known.num_characters if with_start else None

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        tokens, targets = random_windows(known.train, TRAINED, BATCH, generator)
        return pair(torch.cat([tokens, targets[:, -1:]], dim=1), start)

    places = torch.linspace(0, len(known.validation) - STREAMED - 1, TEXTS).long().unsqueeze(1)
    test = known.validation[places + torch.arange(STREAMED + 1)]
    return LengthTask(known.num_characters + 1, TRAINED, TRAINED // 2, draw, pair(test, start))


def segments(with_start: bool) -> LengthTask:
    """Predict segments that repeat; the test has a fresh segment every other time."""
    start = START_SYMBOL if with_start else None

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        period = int(torch.randint(8, 25, (), generator=generator))
        return pair(repeated_segments(period, TRAINED + 1, 32, generator)[:, 1:], start)

    generator = torch.Generator().manual_seed(1000)
    many = torch.rand(TEXTS, STREAMED // COPIED, SYMBOLS, generator=generator).argsort(dim=-1)
    said = many[..., :COPIED].repeat(1, 1, 2).flatten(1)[:, : STREAMED + 1]
    return LengthTask(SYMBOLS + 1, TRAINED, TRAINED // 2, draw, pair(said, start))


def judged(scores: Tensor, targets: Tensor, part: Tensor) -> Row:
    """Return loss, mean highest probability and share of right guesses over some positions."""
    scores, targets = scores[:, part].flatten(0, 1), targets[:, part].flatten()
    best = scores.softmax(-1).max(-1)
    return {
        "loss": round(F.cross_entropy(scores, targets).item(), 4),
        "sure": round(best.values.mean().item(), 4),
        "right": round((best.indices == targets).double().mean().item(), 4),
    }


def run(seed: int, kind: str, with_start: bool) -> Row:
    """Train one model, look at its first token, and read with and without it."""
    task = {"text": text, "segments": segments}[kind](with_start)
    model = trained(task, seed, RATE[kind], STEPS)
    tokens, targets = task.test
    weights = model.weights(tokens[:, :TRAINED], causal_mask(TRAINED, TRAINED))
    on_first = {
        f"{first} to {last}": [
            rounded(w[:, :, first : last + 1, 0].mean(dim=(0, 2))) for w in weights
        ]
        for first, last in SPANS
    }
    # Where a target stands in its double segment: a symbol earlier in texts behind a start token.
    place = (torch.arange(tokens.shape[1]) + (not with_start)) % (2 * COPIED)
    late = torch.arange(tokens.shape[1]) >= TRAINED
    parts = {"all": late}
    if kind == "segments":
        parts = {"first copy": late & (place > 0) & (place < COPIED),
                 "second copy": late & (place > COPIED)}  # fmt: skip
    caches = {}
    for name, (window, num_sinks) in CACHES.items():
        scores = stream_text(model, tokens, window=window, num_sinks=num_sinks)
        caches[name] = {what: judged(scores, targets, part) for what, part in parts.items()}
    return {"text": kind, "start token": with_start, "seed": seed, "on_first": on_first, **caches}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=2)
    torch.set_flush_denormal(True)
    script.record(
        what="loss (nats) through a cache of 64 keys, with the first four tokens and without",
        settings={"steps": STEPS, "trained": TRAINED, "streamed": STREAMED, "d_model": D_MODEL,
                  "heads": NUM_HEADS, "texts": TEXTS},
        runs=each(run, product(range(script.options.seeds), ("text", "segments"), (True, False))),
    )  # fmt: skip


if __name__ == "__main__":
    main()
