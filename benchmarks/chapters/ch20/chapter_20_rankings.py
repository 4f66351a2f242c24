"""Compare rankings of a prompt's tokens with what hiding each of them costs, in the released model.

Method: twenty prompts of 5 to 18 tokens: twelve with two names, eight facts. The reference hides a
token from all others, and counts the fall of the likeliest word's log-probability. Ranks are
correlated over all tokens but the last, with the sign of the fall and with its size. Two minutes on
one core:

    python -m benchmarks.chapters.ch20.chapter_20_rankings
"""

import math
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, opened
from benchmarks.recording import Row, Script, each
from course_utils import interpretability
from course_utils.interpretability import rank_correlation

FACTS = (
    "The capital of France is", "The capital of Italy is", "The sun rises in the",
    "Water freezes at zero degrees", "The opposite of hot is", "Two plus two equals",
    "The author of Hamlet is William", "The largest planet in the solar system is",
)  # fmt: skip


def weights_and_gradients(book: Any, tokens: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Return all weights, the gradients of the likeliest word's log-probability, and the word."""
    kept: list[Tensor] = []

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        if part == "weights":
            x = x.detach().requires_grad_() if layer == 0 else x
            x.retain_grad()
            kept.append(x)
        return x

    with torch.enable_grad():
        scores, _ = book.taps(book.model.token(tokens[None]).requires_grad_(), edit)
        told = scores[0, -1].log_softmax(-1)
        told.max().backward()
    return [one.detach() for one in kept], [one.grad for one in kept if one.grad is not None], told


def rankings(book: Any, tokens: Tensor, seed: int) -> dict[str, Tensor]:
    """Return every ranking of the tokens but the last."""
    weights, gradients, _ = weights_and_gradients(book, tokens)
    unsinked = [interpretability.without_key(one, 0) for one in weights]
    uncut = [(a * b).sum(1) for a, b in zip(weights, gradients, strict=True)]
    length = len(tokens)
    found = {
        "last layer": weights[-1].mean(1)[0, -1],
        "mean of layers": torch.stack(weights).mean((0, 2))[0, -1],
        "rollout": interpretability.attention_rollout(weights)[0, -1],
        "rollout without token 0": interpretability.attention_rollout(unsinked)[0, -1],
        "gradient attention": interpretability.gradient_attention(weights, gradients)[0, -1],
        "gradient times weight, summed": torch.stack(uncut).sum(0)[0].sum(0),
        "distance": torch.arange(length).double(),
        "random": torch.rand(length, generator=torch.Generator().manual_seed(seed)),
    }
    return {name: one[:-1].float() for name, one in found.items()}


def row(book: Any, text: str, seed: int) -> Row:
    """Compare every ranking on one prompt."""
    tokens = book.tokenizer.encode(text)
    scores, _ = book.read(tokens[None])
    told = scores[0, -1].log_softmax(-1)
    word = told.argmax()
    fall = torch.stack([
        told[word] - book.read(tokens[None], book.hidden(key))[0][0, -1].log_softmax(-1)[word]
        for key in range(len(tokens) - 1)
    ])  # fmt: skip
    found = rankings(book, tokens, seed)
    return {
        "text": text,
        "signed": {
            name: round(rank_correlation(one, fall).item(), 3) for name, one in found.items()
        },
        "size": {
            name: round(rank_correlation(one.abs(), fall.abs()).item(), 3)
            for name, one in found.items()
        },
    }  # fmt: skip


def summary(rows: list[Row], kind: str) -> list[Row]:
    """Return the mean of each ranking's correlation and its standard error."""
    found = []
    for name in rows[0][kind]:
        values = torch.tensor([row[kind][name] for row in rows])
        error = values.std() / math.sqrt(len(values))
        found.append({
            "ranking": name, "agreement": kind, "mean": round(values.mean().item(), 2),
            "standard error": round(error.item(), 2),
        })  # fmt: skip
    return found


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("hidden")
    names = [one.text for template in range(4) for one in book.data.two_names(template, 3)]
    rows = each(
        lambda *case: row(book, *case), [(text, at) for at, text in enumerate([*names, *FACTS])]
    )
    script.record(
        what="rank correlation of rankings of a prompt's tokens with the cost of hiding each",
        settings=FILE,
        runs=[*summary(rows, "signed"), *summary(rows, "size")],
        prompts=rows,
    )


if __name__ == "__main__":
    main()
