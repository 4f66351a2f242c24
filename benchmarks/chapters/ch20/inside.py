"""Shared by the records of chapter 20: the model, its notebook's definitions, and five texts."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.definitions import definitions
from course_utils.model_file import NAME, SHA256
from course_utils.models import released

FILE = {"file": NAME, "sha256": SHA256}
SKIPPED = 16  # positions at the beginning of a text that do not count in a loss
NAMES = (
    "unchanged", "taps", "read", "five_texts", "roles", "token_losses", "heads_set_to", "stacked",
)  # fmt: skip


def opened(*more: str) -> Any:
    """Return the notebook's definitions, the model and the tokenizer under their names."""
    torch.set_grad_enabled(False)
    made = released.model()
    given = {"model": made.model, "tokenizer": made.tokenizer}
    return SimpleNamespace(**definitions("20", *NAMES, *more, **given))


def loss(book: Any, tokens: Tensor, scores: Tensor) -> float:
    """Return the mean loss of a text behind its first tokens."""
    return book.token_losses(tokens, scores)[SKIPPED - 1 :].mean().item()


def resting(book: Any, kept: Any, key: int = 0) -> int:
    """Return how many of the 270 heads put more than half of their weight on one key."""
    weights = book.stacked(kept, "weights")[0]
    return int((weights[..., 32:, key].mean(-1) > 0.5).sum())


def means(book: Any, texts: dict[str, Tensor], *without: str, part: str = "heads") -> Tensor:
    """Return the mean of a part over the positions of all texts but some."""
    found = [
        book.stacked(book.read(tokens[None])[1], part)[0].mean(-2)
        for name, tokens in texts.items()
        if name not in without
    ]
    return torch.stack(found).mean(0)


def heads_at_end(book: Any, kept: Any, runs: Any, replaced: Tensor) -> Tensor:
    """Return the difference (N, 30, 9) where one head at a time is replaced at the end.

    `replaced` (N or 1, 30, 9, 64) holds what each head returns there instead.
    """
    table, count = torch.zeros(len(runs.tokens), 30, 9), len(runs.tokens)
    several = SimpleNamespace(object=runs.object.repeat(9), subject=runs.subject.repeat(9))
    past = {
        name: {layer: one.repeat(9, 1, 1, 1) for layer, one in kept[name].items()}
        for name in ("keys", "values")
    }
    for layer in range(30):

        def edit(part: str, number: int, x: Tensor, layer: int = layer) -> Tensor:
            if (part, number) != ("heads", layer):
                return x
            x = x.unflatten(0, (9, count)).clone()
            for head in range(9):
                x[head, :, head, 0] = replaced[:, layer, head]
            return x.flatten(0, 1)

        stream = kept["state"][layer - 1] if layer else book.model.token(runs.tokens)
        scores, _ = book.taps(stream[:, -1:].repeat(9, 1, 1), edit, layer, runs.end, past)
        table[:, layer] = book.difference(scores, several).view(9, count).T
    return table
