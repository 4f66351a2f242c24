"""One call of the model for new tokens of many sequences, any number of tokens each.

Source: Yu et al. 2022, Orca, section 3 (selective batching),
    https://www.usenix.org/conference/osdi22/presentation/yu
Ours / theirs: the rows of the call = their flattened tensor [ΣL, H]
Differs: attention is a loop over the sequences; a kernel reads all of them at once.
Same contract as: the model called with each sequence and its own cache
"""

from collections.abc import Sequence
from itertools import chain
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.paged import PagedCache
from course_utils.models import GPT, ModelCache
from course_utils.models.model_cache import KeptLayer


class RaggedCache:
    """One layer's caches of several sequences; each token arrives as a row of its own.

    Args:
        caches: The cache of each sequence.
        counts: How many of the new tokens belong to each sequence, in this order.
    """

    def __init__(self, caches: Sequence[PagedCache], counts: Sequence[int]) -> None:
        self.caches, self.counts = list(caches), list(counts)

    @property
    def length(self) -> int:
        """The length of the longest sequence."""
        return max(one.length for one in self.caches)

    def append(self, key: Float[Tensor, "N H_kv 1 d"], value: Float[Tensor, "N H_kv 1 d"]) -> None:
        """Append each new token to its own sequence."""
        for one, *new in zip(self.caches, self._split(key), self._split(value), strict=True):
            one.append(*new)

    def attend(
        self, query: Float[Tensor, "N H 1 d"], first: Int[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N H 1 d"]:
        """Return what each new token reads from its own sequence, up to itself.

        `first` only gives the tokens' positions; the pages of a sequence hold no padding.
        """
        found = [
            one.attend(asked)
            for one, asked in zip(self.caches, self._split(query), strict=True)
        ]  # fmt: skip
        return torch.cat([one.permute(2, 1, 0, 3) for one in found])

    def _split(self, rows: Tensor) -> list[Tensor]:
        """Return the rows of each sequence, as (1, H, T, d)."""
        return [part.permute(2, 1, 0, 3) for part in rows.split(self.counts)]


class _Rows(ModelCache):
    """The caches of all layers for one call of the model; every row has its own position."""

    def __init__(self, layers: Sequence[RaggedCache], first: Int[Tensor, " N"]) -> None:
        # A call appends and attends; only caches that outlive it are cropped or reordered.
        self.layers, self.first = cast(list[KeptLayer], list(layers)), first


def feed(
    model: GPT, sequences: Sequence[Sequence[PagedCache]], pieces: Sequence[Sequence[int]]
) -> Float[Tensor, "n num_tokens"]:
    """Read a piece of each sequence and return the scores for what comes after its last token.

    All other layers see one batch of rows and do not know whose they are: their weights are read
    once for all. Only attention needs to know, in `RaggedCache`.

    Args:
        model: What reads.
        sequences: For each sequence, the cache of every layer; extended in place.
        pieces: The next tokens of each, at least one.
    """
    counts = [len(piece) for piece in pieces]
    starts = [sequence[0].length for sequence in sequences]
    places = [range(start, start + n) for start, n in zip(starts, counts, strict=True)]
    device = model.token.weight.device
    # In a step whose longest sequence has n tokens, a row at position p follows n - p paddings.
    first = max(starts) - torch.tensor(list(chain(*places)), device=device)
    layers = [RaggedCache(layer, counts) for layer in zip(*sequences, strict=True)]
    rows = torch.tensor(list(chain(*pieces)), device=device).unsqueeze(-1)
    with torch.inference_mode():
        logits, _ = model(rows, _Rows(layers, first))
    return logits[torch.tensor(counts).cumsum(0) - 1, 0]
