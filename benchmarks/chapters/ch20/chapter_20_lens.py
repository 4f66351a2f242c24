"""Measure what the logit lens says of the released model's layers, and what it adds by itself.

Method: KL divergence, in nats, from the last layer's distribution to the lens's, over positions 16
to 255 of a text; equal probabilities beside it. The ridge translation maps the normed stream of a
layer to the normed last one: fitted on two other texts, its strength chosen on a third. The names
are those of chapter_20_names. A minute on one core:

    python -m benchmarks.chapters.ch20.chapter_20_lens
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.chapters.ch20.inside import FILE, SKIPPED, opened
from benchmarks.recording import Row, Script, each
from course_utils.interpretability import logit_lens

LAYERS = (-1, 0, 4, 8, 12, 16, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29)
FITTED, CHOSEN, TRIED = ("network", "course"), "classes", ("housing", "more course")
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)


def normed(book: Any, tokens: Tensor) -> Tensor:
    """Return the normed stream (31, 240, 576): of the embedding, then behind each layer."""
    _, kept = book.read(tokens[None])
    states = torch.cat([book.model.token(tokens)[None], book.stacked(kept, "state")[0]])
    return F.rms_norm(states[:, SKIPPED:], (576,), book.model.last_norm.weight, book.EPS)


def ridge(x: Tensor, y: Tensor, strength: float) -> Tensor:
    """Return the matrix and, in its last row, the constant that take x to y."""
    x = F.pad(x.double(), (0, 1), value=1.0)
    square = x.mT @ x + strength * torch.eye(x.shape[1], dtype=torch.float64)
    return torch.linalg.solve(square, x.mT @ y.double()).float()


def said(book: Any, states: Tensor, final: Tensor) -> Row:
    """Return what the lens says from states (240, 576) against the last layer's log-probability."""
    told = book.model.out(states).log_softmax(-1)
    best, last = told.argmax(-1), final.argmax(-1)
    return {
        "kl": round((final.exp() * (final - told)).sum(-1).mean().item(), 2),
        "entropy": round(-(told.exp() * told).sum(-1).mean().item(), 2),
        "same word": round((best == last).double().mean().item(), 3),
        "same word, shifted": round((best == last.roll(7)).double().mean().item(), 3),
    }


def text_row(book: Any, name: str, states: dict[str, Tensor]) -> Row:
    """Measure the lens, bare and translated, on one text."""
    final = book.model.out(states[name][30]).log_softmax(-1)
    entropy = -(final.exp() * final).sum(-1).mean().item()
    found: Row = {
        "text": name,
        "equal": round(math.log(final.shape[-1]) - entropy, 2),
        "layers": [],
    }
    for layer in LAYERS:
        at = layer + 1
        x, y = (torch.cat([states[one][where] for one in FITTED]) for where in (at, 30))
        maps = [ridge(x, y, strength) for strength in STRENGTHS]
        errors = [
            (F.pad(states[CHOSEN][at], (0, 1), value=1.0) @ one - states[CHOSEN][30]).norm().item()
            for one in maps
        ]
        chosen = min(range(len(maps)), key=errors.__getitem__)
        moved = F.pad(states[name][at], (0, 1), value=1.0) @ maps[chosen]
        found["layers"].append({
            "layer": layer,
            "lens": said(book, states[name][at], final),
            "translated": said(book, moved, final),
            "strength": STRENGTHS[chosen],
        })  # fmt: skip
    return found


def name_row(book: Any, template: int) -> Row:
    """Measure what the lens says of both names, layer by layer, at the end of the sentences."""
    runs = book.two_runs(template, 12)
    _, kept = book.read(runs.tokens)
    states = book.stacked(kept, "state")[:, :, -1]
    gain, unembed = book.model.last_norm.weight, book.model.out.weight
    both = [
        torch.stack([
            torch.stack(logit_lens(one, gain, unembed, int(token), book.EPS)[part:][:1])[0]
            for one, token in zip(states, tokens, strict=True)
        ])
        for tokens, part in ((runs.object, 0), (runs.object, 1), (runs.subject, 1))
    ]  # fmt: skip
    ranks, ahead = both[0].double(), both[1] - both[2]
    return {
        "template": template,
        "rank": ranks.median(0).values.round().int().tolist(),
        "object ahead": [round(one, 2) for one in (ahead > 0).double().mean(0).tolist()],
        "difference": [round(one, 2) for one in ahead.mean(0).tolist()],
    }


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("two_runs", "EPS")
    states = {name: normed(book, tokens) for name, tokens in book.five_texts().items()}
    script.record(
        what="what the logit lens says of the released model's layers, in nats and ranks",
        settings={**FILE, "layers": LAYERS, "fitted": FITTED, "chosen": CHOSEN},
        runs=each(lambda name: text_row(book, name, states), [(one,) for one in TRIED]),
        names=each(lambda number: name_row(book, number), [(one,) for one in range(4)]),
    )


if __name__ == "__main__":
    main()
