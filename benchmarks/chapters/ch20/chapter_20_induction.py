"""Measure what heads of the released model do where a text repeats itself.

Method: 50 random words, twice, six seeds; the mean loss of the second copy. A head is set to 0, or
to its mean over five texts. Random heads are five draws of eight, of layers 15 to 24 without the
eight best induction heads and the eight best previous-token heads, and of all layers. Then four
texts, split into tokens that complete a pair which the text has had, and all others. Five minutes
on one core:

    python -m benchmarks.chapters.ch20.chapter_20_induction
"""

import random
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, means, opened
from benchmarks.recording import Row, Script, each, rounded
from course_utils.interpretability import induction_score, previous_token_score

Heads = list[tuple[int, int]]
LENGTH = 50


def best(table: Tensor, count: int) -> Heads:
    """Return the heads with the largest entries (30, 9)."""
    return [divmod(one, 9) for one in table.flatten().topk(count).indices.tolist()]


def groups(induction: Heads, previous: Heads) -> dict[str, Heads]:
    """Return the sets of heads to be taken out, by name."""
    busy = {*induction, *previous}
    late = [(layer, head) for layer in range(15, 25) for head in range(9)]
    everything = [(layer, head) for layer in range(30) for head in range(9)]
    drawn = random.Random(0)
    return {
        "none": [],
        "best induction head": induction[:1],
        "four best": induction[:4],
        "eight best": induction,
        "best previous-token head": previous[:1],
        "second previous-token head": previous[1:2],
        "head (0, 1)": [(0, 1)],
        **{
            f"random late {number}": drawn.sample([one for one in late if one not in busy], 8)
            for number in range(5)
        },
        **{f"random {number}": drawn.sample(everything, 8) for number in range(5)},
    }


def scores_of(book: Any) -> tuple[Tensor, Tensor]:
    """Return induction and previous-token scores (30, 9) on four sequences of random tokens."""
    found = []
    for seed in range(4):
        drawn = torch.Generator().manual_seed(seed)
        half = torch.randint(1000, 40000, (LENGTH,), generator=drawn)
        weights = book.stacked(book.read(torch.cat([half, half])[None])[1], "weights")[0]
        found.append((induction_score(weights, LENGTH), previous_token_score(weights)))
    one, other = (torch.stack(kind).mean(0) for kind in zip(*found, strict=True))
    return one, other


def row(book: Any, seed: int, out: dict[str, Heads], mean: Tensor) -> Row:
    """Measure every set of heads on one sequence of words."""
    tokens = book.repeated_words(LENGTH, seed)
    found: Row = {"seed": seed}
    for name, heads in out.items():
        for how, values in (("zero", torch.zeros_like(mean)), ("mean", mean)):
            scores, _ = book.read(tokens[None], book.heads_set_to(values, heads))
            losses = book.token_losses(tokens, scores)
            right = scores[0, LENGTH + 1 : -1].argmax(-1) == tokens[LENGTH + 2 :]
            found[f"{name}, {how}"] = {
                "second": round(losses[LENGTH + 1 :].mean().item(), 3),
                "first": round(losses[:LENGTH].mean().item(), 3),
                "right": round(right.double().mean().item(), 3),
            }
    return found


def completes(tokens: Tensor) -> Tensor:
    """Return where a token (T - 1,) completes a pair that the text has had."""
    pairs = list(zip(tokens[:-1].tolist(), tokens[1:].tolist(), strict=True))
    return torch.tensor([pair in pairs[:place] for place, pair in enumerate(pairs)])


def text_row(book: Any, name: str, texts: dict[str, Tensor], out: dict[str, Heads]) -> Row:
    """Measure every set of heads on one text, split by whether a pair returns."""
    tokens, mean = texts[name], means(book, texts, name)
    scores, _ = book.read(tokens[None])
    whole, pairs = book.token_losses(tokens, scores), completes(tokens)
    found: Row = {"text": name, "pairs": int(pairs.sum())}
    for group, heads in out.items():
        scores, _ = book.read(tokens[None], book.heads_set_to(mean, heads))
        more = book.token_losses(tokens, scores) - whole
        kinds = (("pairs", pairs), ("others", ~pairs), ("all", pairs | True))
        found[group] = {kind: round(more[which].mean().item(), 3) for kind, which in kinds}
    return found


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("repeated_words", "words")
    texts = book.five_texts()
    induction, previous = scores_of(book)
    out, mean = groups(best(induction, 8), best(previous, 8)), means(book, texts)
    four = {name: texts[name] for name in ("housing", "network", "classes", "course")}
    script.record(
        what="loss on repeated words and on text without some heads of the released model",
        settings={
            **FILE,
            "heads": out,
            "induction": rounded(induction),
            "previous": rounded(previous),
        },
        runs=each(lambda seed: row(book, seed, out, mean), [(seed,) for seed in range(6)]),
        texts=each(lambda name: text_row(book, name, texts, out), [(name,) for name in four]),
    )


if __name__ == "__main__":
    main()
