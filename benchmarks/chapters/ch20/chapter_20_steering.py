"""Steer the released model by a difference of means, and by random vectors of the same length.

Method: the mean stream at the end of three glad sentences minus that of three sad ones, behind a
layer, is added at every position of four openings. What is measured: the log-odds of eight glad
words against eight sad ones as the next word, minus those of the unchanged model. Then heads that
share keys and values: how far their patterns are apart, and the loss where the three share one
pattern. A minute on one core:

    python -m benchmarks.chapters.ch20.chapter_20_steering
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, loss, opened
from benchmarks.recording import Row, Script, each, rounded

GLAD = (
    "I love this, it is wonderful.",
    "What a beautiful, happy day.",
    "This was a great success.",
)
SAD = (
    "I hate this, it is terrible.",
    "What an ugly, miserable day.",
    "This was a complete failure.",
)
OPENINGS = ("The film was", "I think the food is", "My day has been", "The news today is")
GLAD_WORDS = " good great wonderful excellent beautiful happy amazing nice"
SAD_WORDS = " bad terrible awful horrible ugly sad boring poor"
LAYERS, FACTORS, DRAWS = (6, 14, 18, 22, 26), (1.0, 2.0, -1.0, -2.0), 5


def log_odds(book: Any, opening: str, change: Tensor | None = None, layer: int = 0) -> float:
    """Return the log-odds of glad words against sad ones behind an opening."""

    def edit(part: str, number: int, x: Tensor) -> Tensor:
        return x if change is None or (part, number) != ("state", layer) else x + change

    scores, _ = book.read(book.tokenizer.encode(opening)[None], edit)
    told = scores[0, -1].log_softmax(-1)
    glad, sad = (
        told[torch.cat([book.tokenizer.encode(" " + one)[:1] for one in words.split()])]
        for words in (GLAD_WORDS, SAD_WORDS)
    )
    return (glad.logsumexp(0) - sad.logsumexp(0)).item()


def ends(book: Any, texts: tuple[str, ...], layer: int) -> Tensor:
    """Return the mean stream at the end of some texts."""
    found = [book.read(book.tokenizer.encode(one)[None])[1]["state"][layer][0, -1] for one in texts]
    return torch.stack(found).mean(0)


def steered(book: Any, layer: int) -> Row:
    """Measure every factor, and random vectors of one to four times the length, behind a layer."""
    vector = ends(book, GLAD, layer) - ends(book, SAD, layer)
    plain = [log_odds(book, one) for one in OPENINGS]

    def moved(change: Tensor) -> float:
        after = [log_odds(book, one, change, layer) for one in OPENINGS]
        return round(sum(a - b for a, b in zip(after, plain, strict=True)) / len(plain), 2)

    drawn = torch.randn(DRAWS, 576, generator=torch.Generator().manual_seed(layer))
    drawn = drawn / drawn.norm(dim=-1, keepdim=True) * vector.norm()
    return {
        "layer": layer,
        "length": round(vector.norm().item(), 1),
        "difference of means": {str(one): moved(one * vector) for one in FACTORS},
        "random": {str(one): [moved(one * x) for x in drawn] for one in (1.0, 2.0, 4.0)},
    }


def shared(book: Any, name: str, tokens: Tensor) -> Row:
    """Measure the patterns of heads that share keys and values, on one text."""
    scores, kept = book.read(tokens[None])
    rows = book.stacked(kept, "weights")[0][..., 32:, :]
    apart = (rows.unsqueeze(2) - rows.unsqueeze(1)).abs().sum(-1).mean(-1) / 2  # (30, 9, 9)
    group = torch.arange(9) // 3
    same = (group[:, None] == group) & ~torch.eye(9, dtype=torch.bool)
    within, across = apart[:, same].mean(-1), apart[:, group[:, None] != group].mean(-1)

    def one_pattern(part: str, layer: int, x: Tensor) -> Tensor:
        if part != "weights":
            return x
        return x.unflatten(1, (3, 3)).mean(2).repeat_interleave(3, dim=1)

    merged, _ = book.read(tokens[None], one_pattern)
    return {
        "text": name,
        "within": rounded(within),
        "across": rounded(across),
        "nearer within": int((within < across).sum()),
        "loss": round(loss(book, tokens, scores), 3),
        "one pattern for three": round(loss(book, tokens, merged), 3),
    }


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened()
    texts = book.five_texts()
    script.record(
        what="steering of the released model, and heads of it that share keys and values",
        settings={**FILE, "glad": GLAD, "sad": SAD, "openings": OPENINGS},
        runs=each(lambda layer: steered(book, layer), [(one,) for one in LAYERS]),
        shared=each(lambda *given: shared(book, *given), list(texts.items())),
    )


if __name__ == "__main__":
    main()
