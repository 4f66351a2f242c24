"""Real English text that ships with Python: the reference topics behind ``help()``.

Source: the standard library's ``pydoc_data.topics``. The wording differs a little between Python
versions, so a number measured on it is valid for one version; the alphabet is the same for all.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.data.tokenizer import numbers

ALPHABET = "\n" + "".join(sorted(set(string.printable) - set(string.whitespace))) + " "
UNKNOWN = "?"


@dataclass(frozen=True)
class CharacterText:
    """A text as character numbers, split by topic so that no sentence is in both parts.

    Attributes:
        train: Characters to learn from.
        validation: Characters of topics that `train` does not hold.
    """

    train: Int[Tensor, " num_train"]
    validation: Int[Tensor, " num_validation"]

    @property
    def num_characters(self) -> int:
        """Size of the alphabet."""
        return len(ALPHABET)


def encode(text: str) -> Int[Tensor, " length"]:
    """Encode text as numbers; a character outside the alphabet becomes a question mark."""
    number = {character: index for index, character in enumerate(ALPHABET)}
    found = [number.get(character, number[UNKNOWN]) for character in text]
    return torch.tensor(found, dtype=torch.long)


def decode(tokens: Iterable[int] | Int[Tensor, " length"]) -> str:
    """Decode numbers into text."""
    return "".join(ALPHABET[token] for token in numbers(tokens, len(ALPHABET)))


def character_text(held_out: int = 5) -> CharacterText:
    """Return Python's help topics in alphabetical order, every `held_out`-th for validation.

    Args:
        held_out: One topic in this many is kept for validation.

    Raises:
        ValueError: `held_out` is below 2, which would leave nothing to learn from.
    """
    if held_out < 2:
        raise ValueError(f"held_out must be at least 2, got {held_out}")
    from pydoc_data.topics import topics

    texts = [topics[name] for name in sorted(topics)]
    kept = [text for index, text in enumerate(texts) if index % held_out != held_out - 1]
    return CharacterText(encode("".join(kept)), encode("".join(texts[held_out - 1 :: held_out])))


def random_windows(
    tokens: Int[Tensor, " num_tokens"], length: int, count: int, generator: torch.Generator
) -> tuple[Int[Tensor, "count length"], Int[Tensor, "count length"]]:
    """Draw windows and, for each position, the character that comes next.

    Args:
        tokens: The text to cut from.
        length: Characters in a window.
        count: Number of windows; they may overlap.
        generator: Where the starts are drawn from.

    Raises:
        ValueError: The text is too short for one window plus its last target.
    """
    if len(tokens) <= length:
        raise ValueError(f"the text must be longer than a window of {length}, got {len(tokens)}")
    starts = torch.randint(len(tokens) - length, (count, 1), generator=generator)
    positions = starts + torch.arange(length)
    return tokens[positions], tokens[positions + 1]
