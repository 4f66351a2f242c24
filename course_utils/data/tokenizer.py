"""Characters as numbers, with the four special numbers that all of the course's tasks share."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

PAD, START, END, UNKNOWN = range(4)
FIRST_SYMBOL = 4


def numbers(tokens: Iterable[int] | Int[Tensor, " length"], below: int) -> list[int]:
    """Return the tokens as a list of ints.

    Raises:
        ValueError: One is outside the alphabet.
    """
    try:
        found = list(map(operator.index, tokens))
    except TypeError:
        raise TypeError(f"tokens must be whole numbers, got {tokens!r:.60}") from None
    if found and not 0 <= min(found) <= max(found) < below:
        raise ValueError(
            f"tokens must lie between 0 and {below - 1}, got {min(found)} to {max(found)}"
        )
    return found


class CharacterTokenizer:
    """Number the characters of an alphabet; what is outside it becomes UNKNOWN.

    Args:
        alphabet: The characters, each once, in the order of their numbers.

    Raises:
        ValueError: A character occurs twice in the alphabet.
    """

    def __init__(self, alphabet: str) -> None:
        if len(set(alphabet)) != len(alphabet):
            twice = sorted({found for found in alphabet if alphabet.count(found) > 1})
            raise ValueError(f"alphabet must hold each character once, got twice {twice}")
        self.alphabet = alphabet
        self._number = {found: index for index, found in enumerate(alphabet, FIRST_SYMBOL)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> CharacterTokenizer:
        """Return a tokenizer for the characters that occur in `texts`, in code point order."""
        found: set[str] = set()
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"texts must be strings, got {text!r:.60}")
            found.update(text)
        return cls("".join(sorted(found)))

    def __len__(self) -> int:
        return FIRST_SYMBOL + len(self.alphabet)

    def encode(self, text: str, *, marks: bool = False) -> list[int]:
        """Return one number per character, between START and END if `marks` is set."""
        numbers = [self._number.get(character, UNKNOWN) for character in text]
        return [START, *numbers, END] if marks else numbers

    def decode(self, tokens: Iterable[int] | Int[Tensor, " length"]) -> str:
        """Return the text up to END; PAD and START give nothing, UNKNOWN a replacement sign."""
        written = []
        for token in numbers(tokens, len(self)):
            if token == END:
                break
            if token >= FIRST_SYMBOL:
                written.append(self.alphabet[token - FIRST_SYMBOL])
            elif token == UNKNOWN:
                written.append("\N{REPLACEMENT CHARACTER}")
        return "".join(written)


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "N longest"]:
    """Return the sequences as the rows of one tensor, padded with PAD on the right."""
    longest = max(map(len, sequences), default=0)
    rows = [[*sequence, *[PAD] * (longest - len(sequence))] for sequence in sequences]
    return torch.tensor(rows, dtype=torch.long).view(len(sequences), longest)
