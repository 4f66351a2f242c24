"""Pairs of a source and a target, and the simplest such task: repeat what was read.

Source: the copy and reverse tasks are as old as sequence models; Sutskever et al. 2014, Sequence
    to Sequence Learning with Neural Networks, section 3.3, https://arxiv.org/abs/1409.3215, found
    that the source's direction decides how far the first symbol has to travel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_utils.data.tokenizer import END, FIRST_SYMBOL, PAD, START


@dataclass(frozen=True)
class Pairs:
    """Sources and their targets, padded on the right.

    Attributes:
        source: What the encoder reads, without START and END.
        target: What the decoder writes, between START and END.
    """

    source: Int[Tensor, "N S"]
    target: Int[Tensor, "N T"]

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Tensor | slice) -> Pairs:
        """Return some of the pairs, cut to the longest source and the longest target of them."""
        return Pairs(_cut(self.source[index]), _cut(self.target[index]))

    @property
    def source_mask(self) -> Bool[Tensor, "N S"]:
        """True where the source holds a symbol, False on padding."""
        return self.source != PAD


def repeat_pairs(
    lengths: Int[Tensor, " N"],
    generator: torch.Generator,
    *,
    num_symbols: int = 10,
    reverse: bool = False,
) -> Pairs:
    """Draw random symbols, to be copied as they are or in reverse.

    The symbols have the numbers FIRST_SYMBOL … FIRST_SYMBOL + num_symbols - 1.

    Args:
        lengths: Symbols in each source, at least 1.
        generator: Where the symbols are drawn from.
        num_symbols: Size of the alphabet.
        reverse: Whether the target starts with the source's last symbol.
    """
    if len(lengths) == 0 or int(lengths.min()) < 1:
        raise ValueError(f"lengths must hold numbers of at least 1, got {lengths.tolist()}")
    count, longest = len(lengths), int(lengths.max())
    symbols = torch.randint(num_symbols, (count, longest), generator=generator) + FIRST_SYMBOL
    position, length = torch.arange(longest), lengths.unsqueeze(1)
    source = symbols.masked_fill(position >= length, PAD)
    order = (length - 1 - position).clamp(min=0) if reverse else position.expand(count, -1)
    target = torch.full((count, longest + 2), PAD)
    target[:, 0] = START
    target[:, 1:-1] = source.gather(1, order).masked_fill(position >= length, PAD)
    return Pairs(source, target.scatter(1, length + 1, END))


def _cut(tokens: Tensor) -> Tensor:
    used = (tokens != PAD).any(dim=0).nonzero()
    return tokens[:, : int(used.max()) + 1] if len(used) else tokens[:, :0]
