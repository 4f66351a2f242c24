"""A GRU that reads a source, in one or both directions.

Source: Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and
    Translate, section 3.2 and appendix A, https://arxiv.org/abs/1409.0473
Ours / theirs: states = h_j;  summary = both directions' last states, theirs the backward one alone
Same contract as: torch.nn.GRU on a packed batch
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_utils.data import PAD
from course_utils.models.recurrent.contexts import Encoded
from course_utils.models.tokens import embedded as rows_of


class Encoder(nn.Module):
    """Read a source in one or both directions.

    Args:
        num_symbols: Size of the source's alphabet, marks included.
        width: Width of a state, both directions together.
        embedding: Width of a symbol.
        bidirectional: Whether half of the width reads backward.
    """

    def __init__(
        self, *, num_symbols: int, width: int, embedding: int = 32, bidirectional: bool = True
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(num_symbols, embedding)
        each = width // 2 if bidirectional else width
        self.gru = nn.GRU(embedding, each, batch_first=True, bidirectional=bidirectional)

    def forward(self, source: Int[Tensor, "B S"]) -> Encoded:
        """Return the states of the source's symbols and their summary."""
        return self.read(rows_of(self.embed, source, "source"), source != PAD)

    def read(self, embedded: Float[Tensor, "B S embedding"], mask: Bool[Tensor, "B S"]) -> Encoded:
        """Return the same for symbols that are already embedded."""
        if not mask.numel() or not bool(mask.any(dim=1).all()):
            raise ValueError(
                f"every source must hold a symbol, got {mask.sum(dim=1).tolist()} symbols"
            )
        # Packing stops each sequence at its end, so the backward direction starts at a real symbol.
        packed = pack_padded_sequence(
            embedded, mask.sum(dim=1), batch_first=True, enforce_sorted=False
        )
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=mask.shape[1])
        return Encoded(states, torch.cat(tuple(last), dim=-1), mask)
