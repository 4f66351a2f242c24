"""Ask the released model for pairs of words again, with its whole cache and with a window.

Method: a list "word is word." of random words of one token each, then up to 16 of its pairs once
more, each with its answer; a question is right if the likeliest token behind "word is" is the
pair's second word. Four lists of each length. The window holds the last 60 tokens and the first
four; the control reads the questions alone. Three minutes on one core:

    python -m benchmarks.chapters.ch20.chapter_20_recall
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.ch20.chapter_20_sink import windowed
from benchmarks.chapters.ch20.inside import FILE, opened
from benchmarks.recording import Row, Script, each

COUNTS = (4, 8, 16, 32, 64)
LISTS, ASKED = 4, 16
RECENT, SINKS = 60, [0, 1, 2, 3]


def one_list(book: Any, known: Tensor, pairs: int, seed: int) -> dict[str, Tensor]:
    """Return which questions of one list are right, and which pairs the window still holds."""
    draw = torch.Generator().manual_seed(seed)
    first, second = known[torch.randperm(len(known), generator=draw)[: 2 * pairs]].view(2, pairs)
    begin, middle, end = (book.tokenizer.encode(one) for one in ("\n", " is", "."))
    lines = torch.stack([first, middle.expand(pairs), second, end.expand(pairs)], 1)
    which = torch.randperm(pairs, generator=draw)[:ASKED]
    whole = torch.cat([begin, lines.flatten(), lines[which].flatten()])
    alone = torch.cat([begin, lines[which].flatten()])
    at = 2 + 4 * torch.arange(len(which))  # of the words "is" behind the questions' first words

    def named(tokens: Tensor, places: Tensor, *edit: Any) -> Tensor:
        return book.read(tokens[None], *edit)[0][0, places].argmax(-1)

    full = named(whole, 4 * pairs + at)
    recent = named(whole, 4 * pairs + at, windowed(book, RECENT, SINKS))
    return {
        "full": full == second[which],
        "window": recent == second[which],
        "no list": named(alone, at) == second[which],
        "a word of the list": torch.isin(full, second),
        "held": 4 * pairs + at - (1 + 4 * which) < RECENT,
    }


def row(book: Any, known: Tensor, pairs: int) -> Row:
    """Measure lists of one length."""
    lists = [one_list(book, known, pairs, seed) for seed in range(LISTS)]
    found = {name: torch.cat([one[name] for one in lists]) for name in lists[0]}
    held = found.pop("held")
    split = {"held": held, "gone": ~held}
    return {
        "pairs": pairs, "questions": len(held),
        **{name: round(one.double().mean().item(), 3) for name, one in found.items()},
        **{
            f"{name}, {which}": f"{int(found[name][at].sum())} of {int(at.sum())}"
            for name in ("full", "window") for which, at in split.items()
        },
    }  # fmt: skip


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    book = opened("words")
    known = torch.tensor(book.words())
    script.record(
        what="share of pairs of words that the released model finds again",
        settings={**FILE, "lists": LISTS, "recent": RECENT, "sinks": SINKS},
        runs=each(lambda pairs: row(book, known, pairs), [(one,) for one in COUNTS]),
    )


if __name__ == "__main__":
    main()
