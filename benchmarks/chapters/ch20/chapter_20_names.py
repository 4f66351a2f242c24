"""Measure which heads of the released model decide between two names, and where a name is carried.

Method: four templates, twelve sentences each. Parts of the difference of two scores; the same
difference where one head at the end is set to 0, to its mean over five texts, or to what it returns
in the sentence with the other name repeated; where the stream at one position is; and without the
heads that lead to it, beside six drawn pairs. Six minutes on one core:

    python -m benchmarks.chapters.ch20.chapter_20_names
"""

import random
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, heads_at_end, means, opened
from benchmarks.recording import Row, Script, each, rounded
from course_utils.data.two_names import NAMES, TEMPLATES

LOOKING = [(23, 3), (24, 4), (23, 0), (23, 1), (29, 1), (29, 0), (20, 0), (19, 2)]
INHIBIT = [(20, 0), (19, 2)]
COUNT = 12


def column(weights: Tensor, query: Tensor, key: Tensor) -> float:
    """Return the mean weight of a query on a key, each given by sentence."""
    return round(weights[torch.arange(len(weights)), query, key].mean().item(), 3)


def looks(kept: Any, runs: Any) -> Row:
    """Return where heads look from the last position."""
    end = torch.full_like(runs.second, runs.end)
    places = {"object": runs.named, "subject": runs.first, "repeated": runs.second, "itself": end}
    return {
        f"{layer}, {head}": {
            name: column(kept["weights"][layer][:, head], end, place)
            for name, place in places.items()
        }
        for layer, head in LOOKING
    }


def writes(book: Any, kept: Any, runs: Any) -> Row:
    """Return what heads write on both names, over the mean of the other names."""
    names = torch.cat([book.tokenizer.encode(" " + name) for name in book.NAMES])
    size = (kept["state"][29][:, -1].square().mean(-1) + book.EPS).sqrt()
    found = {}
    for layer, head in LOOKING:
        W_O = book.model.layers[layer].attention.out_proj.weight.mT.unflatten(0, (9, 64))[head]
        written = kept["heads"][layer][:, head, -1] @ W_O * book.model.last_norm.weight
        scores = written @ book.model.out.weight[names].mT / size[:, None]
        own = {"object": runs.object, "subject": runs.subject}
        is_named = sum((names == one[:, None]).int() for one in own.values()) > 0
        others = scores.masked_fill(is_named, 0.0).sum(-1) / (~is_named).sum(-1)
        found[f"{layer}, {head}"] = {
            name: round(((scores * (names == one[:, None])).sum(-1) - others).mean().item(), 3)
            for name, one in own.items()
        }
    return found


def grid(book: Any, kept: Any, other: Any, runs: Any, low: Tensor, high: Tensor) -> list[Any]:
    """Return what the clean stream restores (30, positions from the repeated name on)."""
    start = int(runs.second[0])
    found = torch.zeros(30, runs.end - start + 1)
    for layer in range(30):
        for place in range(start, runs.end + 1):
            stream = other["state"][layer][:, place:].clone()
            stream[:, 0] = kept["state"][layer][:, place]
            scores, _ = book.taps(stream, layer=layer + 1, start=place, past=other)
            found[layer, place - start] = (
                (book.difference(scores, runs) - low) / (high - low)
            ).mean()
    return rounded(found)


def at_end(heads: list[tuple[int, int]], mean: Tensor, place: Any = -1) -> Any:
    """Return an edit that sets heads to their means at one position."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        listed = [head for one, head in heads if one == layer]
        if part != "heads" or not listed:
            return x
        x = x.clone()
        x[:, listed, place] = mean[layer, listed]
        return x

    return edit


def without(book: Any, runs: Any, mean: Tensor) -> Row:
    """Return the difference without heads, and where (23, 0) then looks."""
    drawn = random.Random(0)
    second = int(runs.second[0])
    cases: dict[str, Any] = {
        "none": at_end([], mean),
        "(20, 0) and (19, 2) at the end": at_end(INHIBIT, mean),
        **{
            f"drawn pair {number}": at_end(
                [(20, drawn.randrange(1, 9)), (19, drawn.choice([0, 1, 3, 4, 5, 6, 7, 8]))], mean
            )
            for number in range(6)
        },
        "(23, 3) at the end": at_end([(23, 3)], mean),
        "induction heads at the repeated name": at_end(
            [(17, 3), (17, 4), (17, 5), (18, 6)], mean, second
        ),
        "(20, 0) alone": at_end([(20, 0)], mean),
        "(19, 2) alone": at_end([(19, 2)], mean),
    }  # fmt: skip
    found = {}
    for name, edit in cases.items():
        scores, kept = book.read(runs.tokens, edit)
        parts, _, _ = book.attributed(kept, runs)
        found[name] = {
            "difference": round(book.difference(scores, runs).mean().item(), 3),
            "(23, 0) looks": looks(kept, runs)["23, 0"],
            "attributed": {
                f"{layer}, {head}": round(parts[:, layer, head].mean().item(), 2)
                for layer, head in [*LOOKING[:3], (29, 1)]
            },
        }
    return found


def row(book: Any, template: int, mean: Tensor) -> Row:
    """Measure one template."""
    runs = book.two_runs(template, COUNT)
    (scores, kept), (other_scores, other) = book.read(runs.tokens), book.read(runs.other)
    high, low = book.difference(scores, runs), book.difference(other_scores, runs)
    heads, fed, embedding = book.attributed(kept, runs)
    total, effect = heads.sum((1, 2)) + fed.sum(1) + embedding, {}
    for name, values in (("zero", torch.zeros_like(mean)[None]), ("mean", mean[None])):
        effect[name] = high[:, None, None] - heads_at_end(book, kept, runs, values)
    clean = book.stacked(kept, "heads")[..., -1, :]
    restored = heads_at_end(book, other, runs, clean) - low[:, None, None]
    effect["patch"] = restored / (high - low)[:, None, None]
    return {
        "template": template,
        "length": runs.end + 1,
        "difference": [round(high.mean().item(), 2), round(high.std().item(), 2)],
        "other": round(low.mean().item(), 2),
        "right": int((high > 0).sum()),
        "parts": [round(one.sum().item() / COUNT, 2) for one in (heads, fed, embedding)],
        "sum off by": float(f"{(total - high).abs().max():.0e}"),
        "attributed": rounded(heads.mean(0)),
        "attributed, deviation": rounded(heads.std(0)),
        **{name: rounded(one.mean(0)) for name, one in effect.items()},
        "looks": looks(kept, runs),
        "writes": writes(book, kept, runs),
        "grid": grid(book, kept, other, runs, low, high),
        "noised": [] if template else grid(book, other, kept, runs, high, low),
        "without": without(book, runs, mean),
    }  # fmt: skip


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("two_runs", "difference", "attributed", "EPS")
    book.NAMES = NAMES
    mean = means(book, book.five_texts())
    script.record(
        what="what decides between two names in the released model, and where it is carried",
        settings={**FILE, "templates": list(TEMPLATES), "sentences": COUNT},
        runs=each(lambda number: row(book, number, mean), [(one,) for one in range(4)]),
    )


if __name__ == "__main__":
    main()
