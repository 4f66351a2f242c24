"""Measure ways to take the first token away from the released model, on five texts.

Method: the mean loss over positions 16 to 255 of 256, minus that of the unchanged model; the means
that replace something are over the four other texts. Windows count positions 96 to 255, and hold
as many keys with and without the first token. Four minutes on one core:

    python -m benchmarks.chapters.ch20.chapter_20_sink
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.inside import FILE, loss, opened, resting
from benchmarks.recording import Row, Script, each

CHANNELS = [507, 247, 14]
LATE = 12  # the first of the layers whose heads rest
Edit = Callable[[str, int, Tensor], Tensor]


def value_set(key: int, first: int, values: Tensor | None = None) -> Edit:
    """Set a token's values to 0, or to those (30, 3, 64) given, from a layer on."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        if part != "values" or layer < first:
            return x
        x = x.clone()
        x[:, :, key] = 0.0 if values is None else values[layer]
        return x

    return edit


def channels_set(after: int, channels: list[int], to: Any) -> Edit:
    """Set channels of the first token's stream behind a layer."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        if part != "state" or layer != after:
            return x
        x = x.clone()
        x[:, 0, channels] = to(x[:, 0, channels])
        return x

    return edit


def windowed(book: Any, length: int, kept: list[int]) -> Edit:
    """Show a query the last tokens alone, and the kept ones."""

    def edit(part: str, layer: int, x: Tensor) -> Tensor:
        if part != "weights":
            return x
        places = torch.arange(x.shape[-1])
        seen = places[:, None] - places < length
        seen[:, kept] = True
        x = x * seen
        return x / x.sum(-1, keepdim=True)

    return edit


def edits(book: Any, name: str, texts: dict[str, Tensor]) -> dict[str, Edit]:
    """Return every removal by its name."""
    others = [book.read(one[None])[1] for other, one in texts.items() if other != name]
    values = torch.stack([book.stacked(one, "values")[0, :, :, 0] for one in others]).mean(0)
    behind = {
        layer: torch.stack([one["state"][layer][0, 0, CHANNELS] for one in others])
        for layer in (1, 11)
    }
    drawn = [torch.randperm(576, generator=torch.Generator().manual_seed(s))[:3] for s in range(3)]
    zero = torch.zeros_like
    return {
        "hidden, all layers": book.hidden(0),
        "hidden, layers 12 to 29": book.hidden(0, LATE),
        "value 0, layers 12 to 29": value_set(0, LATE),
        "value 0, all layers": value_set(0, 0),
        "value of other texts, layers 12 to 29": value_set(0, LATE, values),
        "channel 507 at 0 after layer 11": channels_set(11, [507], zero),
        "channel 507 halved after layer 11": channels_set(11, [507], lambda x: x / 2),
        "three channels of other texts after layer 11": channels_set(
            11, CHANNELS, lambda _: behind[11].mean(0)
        ),
        "three channels at 0 after layer 1": channels_set(1, CHANNELS, zero),
        "token 5 hidden, layers 12 to 29": book.hidden(5, LATE),
        "value of token 5 at 0, layers 12 to 29": value_set(5, LATE),
        **{
            f"three random channels at 0 after layer 11 ({seed})": channels_set(
                11, one.tolist(), zero
            )
            for seed, one in enumerate(drawn)
        },
    }


def row(book: Any, name: str, texts: dict[str, Tensor]) -> Row:
    """Measure every removal on one text."""
    tokens = texts[name]
    scores, kept = book.read(tokens[None])
    whole = loss(book, tokens, scores)
    found = {"text": name, "loss": round(whole, 4), "heads": resting(book, kept), "removed": {}}
    for how, edit in edits(book, name, texts).items():
        scores, kept = book.read(tokens[None], edit)
        found["removed"][how] = {
            "loss": round(loss(book, tokens, scores) - whole, 4),
            "heads": resting(book, kept),
            "heads on token 1": resting(book, kept, 1),
        }
    return found


def window_row(book: Any, name: str, tokens: Tensor) -> Row:
    """Measure windows of as many keys on one text, at its last 160 positions."""
    found: Row = {"text": name}
    for how, length, kept in (
        ("all", 256, []), ("64", 64, []), ("63 and the first", 63, [0]),
        ("63 and token 5", 63, [5]), ("60 and the first four", 60, [0, 1, 2, 3]),
        ("32", 32, []), ("31 and the first", 31, [0]),
    ):  # fmt: skip
        scores, _ = book.read(tokens[None], windowed(book, length, kept))
        found[how] = round(book.token_losses(tokens, scores)[95:].mean().item(), 3)
    return found


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("hidden")
    texts = book.five_texts()
    script.record(
        what="loss (nats per token) that the released model gains without its first token",
        settings={**FILE, "tokens": 256, "positions": [16, 255]},
        runs=each(lambda name: row(book, name, texts), [(name,) for name in texts]),
        windows=each(lambda *given: window_row(book, *given), texts.items()),
    )


if __name__ == "__main__":
    main()
