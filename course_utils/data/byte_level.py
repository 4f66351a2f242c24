"""Text to tokens as released models do it: bytes as characters, then merges by rank.

Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.2, and
    encoder.py of https://github.com/openai/gpt-2; merges: Sennrich et al. 2016, Neural Machine
    Translation of Rare Words with Subword Units, section 3.2, https://arxiv.org/abs/1508.07909
Ours / theirs: BYTE_CHARACTERS = bytes_to_unicode();  merge_by_rank = bpe
Differs: a digit is a piece of its own, as in SmolLM; a byte without a token is left out
Same contract as: a BPE of the tokenizers library with its pre-tokenizers Digits and ByteLevel
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.data.tokenizer import numbers

Pair = tuple[str, str]
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PIECE = re.compile(  # numbers of all kinds were split off before
    r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+"
    rf"| ?(?:[^{_SPACE}\w]|_)+|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+"
)


def _byte_characters() -> list[str]:
    """Return a printable character for each byte: its own, or one from 256 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


BYTE_CHARACTERS = _byte_characters()
_BYTES = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}


def merge_by_rank(piece: str, ranks: Mapping[Pair, int]) -> list[str]:
    """Merge neighbours, those of the lowest rank first, until no two of them have one.

    Args:
        piece: One word, each of its characters a symbol.
        ranks: The rank of each pair that can be merged; the lower, the earlier. Gaps are allowed.
    """
    symbols = list(piece)
    while len(symbols) > 1:
        first = min(pairwise(symbols), key=lambda pair: ranks.get(pair, math.inf))
        if first not in ranks:
            break
        symbols = merged(symbols, first)
    return symbols


def merged(symbols: Sequence[str], pair: Pair) -> list[str]:
    """Return the symbols with each occurrence of a pair as one, from left to right."""
    found: list[str] = []
    for symbol in symbols:
        # Without overlap: "aaa" holds the pair "aa" once.
        if found and (found[-1], symbol) == pair:
            found[-1] += symbol
        else:
            found.append(symbol)
    return found


class ByteLevelTokenizer:
    """Turns any text into tokens and back.

    Args:
        tokens: The tokens in the order of their numbers, bytes written as `BYTE_CHARACTERS`.
        merges: The pairs, in the order of their ranks.
        special: Tokens that stand for themselves wherever they occur in a text.
        merge: Merges the symbols of a piece, as `merge_by_rank`.

    Raises:
        ValueError: A special token is not among the tokens.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        merges: Iterable[Pair],
        special: Iterable[str] = (),
        merge: Callable[[str, Mapping[Pair, int]], list[str]] = merge_by_rank,
    ) -> None:
        self._merge = merge
        self.tokens, self.special = list(tokens), frozenset(special)
        self._number = {token: number for number, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {}
        if not self.special <= self._number.keys():
            missing = min(self.special - self._number.keys())
            raise ValueError(f"special must be among the tokens, got {missing!r}")
        longest_first = sorted(map(re.escape, self.special), key=len, reverse=True)
        self._special = re.compile("|".join(longest_first)) if longest_first else None

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> Int[Tensor, " length"]:
        """Turn text into numbers."""
        found: list[int] = []
        for part in _split(text, self._special):
            if part in self.special:
                found.append(self._number[part])
            else:
                for piece in pieces(part):
                    found += self._of(piece)
        return torch.tensor(found, dtype=torch.long)

    def decode(self, tokens: Iterable[int] | Int[Tensor, " length"]) -> str:
        """Turn numbers back into text; what is not UTF-8 becomes U+FFFD."""
        return b"".join(map(self.bytes_of, numbers(tokens, len(self)))).decode(errors="replace")

    def bytes_of(self, token: int) -> bytes:
        """Return what a token stands for: perhaps only a part of a character."""
        text = self.tokens[token]
        return text.encode() if text in self.special else bytes(_BYTES[one] for one in text)

    def _of(self, piece: str) -> list[int]:
        if piece not in self._known:
            word = "".join(BYTE_CHARACTERS[byte] for byte in piece.encode(errors="replace"))
            parts = self._merge(word, self._ranks)
            self._known[piece] = [self._number[part] for part in parts if part in self._number]
        return self._known[piece]


def pieces(text: str) -> Iterator[str]:
    """Yield the pieces that no token spans: words with the space before them, single digits."""
    start = 0
    for place, character in enumerate(text):
        if unicodedata.category(character).startswith("N"):
            yield from _PIECE.findall(text[start:place])
            yield character
            start = place + 1
    yield from _PIECE.findall(text[start:])


def _split(text: str, special: re.Pattern[str] | None) -> Iterator[str]:
    start = 0
    for found in special.finditer(text) if special else ():
        yield text[start : found.start()]
        yield found[0]
        start = found.end()
    yield text[start:]
