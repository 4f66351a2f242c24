"""Tokens between characters and words: the most frequent adjacent pairs, merged.

Source: Sennrich et al. 2016, Neural Machine Translation of Rare Words with Subword Units, Algorithm
    1, https://arxiv.org/abs/1508.07909; the space before a word belongs to it, as in GPT-2
Differs: starts from the characters of the course's one alphabet, where GPT-2 starts from bytes
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.data.byte_level import merge_by_rank, merged
from course_utils.data.text import ALPHABET, UNKNOWN
from course_utils.data.tokenizer import numbers

PIECE = re.compile(r" ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+")
Pair = tuple[str, str]


class BytePairs:
    """Turns text into tokens and back; no token spans two words.

    Args:
        merges: The pairs, in the order in which they were learned.
    """

    def __init__(self, merges: Sequence[Pair]) -> None:
        self.tokens = [*ALPHABET, *("".join(pair) for pair in merges)]
        self._number = {token: number for number, token in enumerate(self.tokens)}
        self._rank = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {}

    @classmethod
    def learn(cls, text: str, num_tokens: int) -> "BytePairs":
        """Merge the most frequent pair, of equal ones the first in the alphabet, repeatedly.

        Args:
            text: What to learn from.
            num_tokens: Size of the vocabulary, including the characters.

        Raises:
            ValueError: There are fewer tokens than characters, or no pairs are left.
        """
        if num_tokens < len(ALPHABET):
            raise ValueError(f"num_tokens must be at least {len(ALPHABET)}, got {num_tokens}")
        words = _Words(text)
        merges: list[Pair] = []
        while len(ALPHABET) + len(merges) < num_tokens:
            pair = words.likeliest_pair()
            if pair is None:
                raise ValueError(
                    f"the text must have pairs for {num_tokens} tokens, "
                    f"got {len(ALPHABET) + len(merges)}"
                )
            words.merge(pair)
            merges.append(pair)
        return cls(merges)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> Int[Tensor, " length"]:
        """Turn text into numbers; a character outside the alphabet becomes a question mark."""
        found = [number for piece in PIECE.findall(text) for number in self._of(piece)]
        return torch.tensor(found, dtype=torch.long)

    def decode(self, tokens: Iterable[int] | Int[Tensor, " length"]) -> str:
        """Turn numbers back into text."""
        return "".join(self.tokens[token] for token in numbers(tokens, len(self)))

    def _of(self, piece: str) -> list[int]:
        if piece not in self._known:
            known = (one if one in self._number else UNKNOWN for one in piece)
            word = merge_by_rank("".join(known), self._rank)
            self._known[piece] = [self._number[token] for token in word]
        return self._known[piece]


class _Words:
    """The words of a text, cut into tokens, and how often each pair of tokens occurs in them."""

    def __init__(self, text: str) -> None:
        counted = Counter(PIECE.findall(text))
        self.words, self.times = [list(word) for word in counted], list(counted.values())
        self.pairs: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for index in range(len(self.words)):
            self._count(index, 1)

    def likeliest_pair(self) -> Pair | None:
        pair = min(self.pairs, key=lambda pair: (-self.pairs[pair], pair), default=None)
        return None if pair is None or self.pairs[pair] < 1 else pair

    def merge(self, pair: Pair) -> None:
        for index in self.places.pop(pair):
            self._count(index, -1)
            self.words[index] = merged(self.words[index], pair)
            self._count(index, 1)

    def _count(self, index: int, sign: int) -> None:
        for pair in pairwise(self.words[index]):
            self.pairs[pair] += sign * self.times[index]
            self.places[pair].add(index)
