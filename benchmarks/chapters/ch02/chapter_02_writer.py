"""Train the model that the date writer carries, round it to eight bits, and judge it as it is kept.

Method: one thread. Chapter 02's model with additive attention, its data and its settings, seed 0.
Weights are kept in the format Q8_0 of chapter 19, 32 to a scale, in one base64 text. Judged are the
held-out dates of each locale, and what the probability of a written date says: for texts of four
kinds, how many reach each threshold. It takes two minutes.

    python -m benchmarks.chapters.ch02.chapter_02_writer
"""

import base64
from collections.abc import Sequence

import babel
import torch
from torch.nn import functional as F

from benchmarks.chapters.ch02.chapter_02_dates import PAIRS, SETTINGS, WIDTH, Task, new_model
from benchmarks.recording import Row, Script
from course_utils.data import (
    HELD_OUT_LOCALES,
    LOCALES,
    PAD,
    START,
    WrittenDate,
    character_text,
    decode,
    sample_dates,
)
from course_utils.data.tokenizer import pad
from course_utils.models import Seq2Seq, train_seq2seq
from course_utils.models.released.gguf.blocks import BLOCK, dequantize_q8_0

EACH, OTHER, TOKENS = 200, 1000, 11
SURE = (0.5, 0.8, 0.9, 0.95, 0.99)


def blocks_of(numbers: torch.Tensor) -> torch.Tensor:
    """Return numbers in blocks of Q8_0: two bytes of scale, then 32 signed bytes; zeros fill up."""
    rows = F.pad(numbers, (0, -len(numbers) % BLOCK)).view(-1, BLOCK)
    scale = (rows.abs().amax(1, keepdim=True) / 127).half()
    levels = (rows / scale.float().clamp_min(1e-12)).round().clamp(-127, 127).to(torch.int8)
    return torch.cat((scale.view(torch.uint8), levels.view(torch.uint8)), dim=1)


def rounded(model: Seq2Seq) -> torch.Tensor:
    """Round all weights of a model in place, and return them as blocks."""
    state = model.state_dict()
    blocks = blocks_of(torch.cat([part.flatten() for part in state.values()]))
    numbers = dequantize_q8_0(blocks).flatten()
    parts = numbers[: sum(part.numel() for part in state.values())].split(
        [part.numel() for part in state.values()]
    )
    shaped = zip(state.items(), parts, strict=True)
    model.load_state_dict({name: part.view(old.shape) for (name, old), part in shaped})
    return blocks


@torch.no_grad()
def written(model: Seq2Seq, task: Task, texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return what the model writes for each text, and the probability it gives to all of that."""
    found = []
    for source in pad([task.tokens.source.encode(text) for text in texts]).split(500):
        tokens = model.write(source, TOKENS).tokens
        fed = torch.cat([torch.full((len(tokens), 1), START), tokens], dim=1)
        logs = model(source, fed).log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        chances = logs.masked_fill(tokens == PAD, 0).sum(1).exp().tolist()
        found += list(zip(map(task.tokens.target.decode, tokens), chances, strict=True))
    return found


def cut(date: WrittenDate, part: str) -> str:
    """Return the text of a date without one of its parts."""
    start, end = date.spans[part]
    return f"{date.text[:start]}{date.text[end:]}".strip() or "-"


def words(count: int) -> list[str]:
    """Return texts of one to four words of Python's help, as a reader might type them."""
    generator = torch.Generator().manual_seed(5)
    known = [word.lower() for word in decode(character_text().train).split() if word.isalpha()]
    lengths = torch.randint(1, 5, (count,), generator=generator).tolist()
    drawn = [torch.randint(len(known), (n,), generator=generator).tolist() for n in lengths]
    return [" ".join(known[i] for i in places) for places in drawn]


def kinds(dates: list[WrittenDate]) -> dict[str, tuple[list[str], list[str]]]:
    """Return texts of each kind, and what would be right; nothing is where there is no date."""
    generator = torch.Generator().manual_seed(4)
    other = sample_dates(OTHER, generator, held_out=True, locales=HELD_OUT_LOCALES)
    parts = ["year", "month", "day"] * len(dates)
    some = [cut(date, part) for date, part in zip(dates[:OTHER], parts, strict=False)]
    return {
        "dates": ([date.text for date in dates], [date.iso for date in dates]),
        "dates of eight other locales": ([d.text for d in other], [d.iso for d in other]),
        "dates without year, month or day": (some, [""] * len(some)),
        "words": (words(OTHER), [""] * OTHER),
    }


def reached(kind: str, found: list[tuple[str, float]], right: list[str]) -> Row:
    """Return how many texts of a kind reach each threshold, and how many of those are right."""
    row: Row = {"kind": kind, "texts": len(found), "thresholds": list(SURE)}
    pairs = list(zip(found, right, strict=True))
    row["right"] = sum(text == iso for (text, _), iso in pairs)
    row["reach"] = [sum(chance >= sure for _, chance in found) for sure in SURE]
    row["reach_right"] = [
        sum(text == iso and chance >= sure for (text, chance), iso in pairs) for sure in SURE
    ]
    return row


def main() -> None:
    """Train, round, judge, and write one JSON file."""
    script = Script(__file__, __doc__)
    task = Task(PAIRS, EACH)
    model = new_model("additive", task, 0)
    train_seq2seq(model, task.training, seed=0, **SETTINGS)
    generator = torch.Generator().manual_seed(2)
    by_locale = {
        name: sample_dates(EACH, generator, held_out=True, locales=[name]) for name in LOCALES
    }
    every = [date for dates in zip(*by_locale.values(), strict=True) for date in dates]
    before = written(model, task, [date.text for date in every])
    blocks = rounded(model)
    rows, locales = [], []
    for kind, (texts, right) in kinds(every).items():
        found = written(model, task, texts)
        rows.append(reached(kind, found, right))
        if kind == "dates":
            hits = [text == iso for (text, _), iso in zip(found, right, strict=True)]
            shares = zip(by_locale, range(len(by_locale)), strict=True)
            locales = [
                {"locale": name, "dates": EACH, "right": sum(hits[at :: len(by_locale)])}
                for name, at in shares
            ]
    state = model.state_dict()
    script.record(
        what="the date writer's model in eight bits, and what its probabilities are worth",
        settings={**SETTINGS, "pairs": PAIRS, "width": WIDTH, "seed": 0, "tokens": TOKENS},
        versions={"babel": babel.__version__},
        by_locale=locales,
        sure=rows,
        runs=[
            {
                "parameters": sum(part.numel() for part in state.values()),
                "bytes": blocks.numel(),
                "right_in_float32": sum(
                    text == date.iso for (text, _), date in zip(before, every, strict=True)
                ),
                "right": sum(row["right"] for row in locales),
                "dates": len(every),
                "alphabet": task.tokens.source.alphabet,
                "layout": [[name, list(part.shape)] for name, part in state.items()],
                "weights": base64.b64encode(blocks.numpy().tobytes()).decode(),
            }
        ],
    )


if __name__ == "__main__":
    main()
