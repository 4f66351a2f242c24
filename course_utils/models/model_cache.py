"""The memory of a whole model between tokens: one cache per layer.

Source: Pope et al. 2022, Efficiently Scaling Transformer Inference, section 2,
    https://arxiv.org/abs/2211.05102
Ours / theirs: layers = the KV cache of each layer
Differs: any mix of the course's caches fits, since all of them append and attend.
"""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.movable_rows import MovableRows
from course_utils.attention.caches.plain import KVCache
from course_utils.attention.caches.rolling import RollingCache
from course_utils.validation import check_instance, check_integers


@runtime_checkable
class KeptLayer(Protocol):
    """The memory of any layer between tokens, as a model's cache needs it."""

    @property
    def length(self) -> int:
        """The number of tokens appended so far."""

    @property
    def batch(self) -> int:
        """The number of sequences."""

    @property
    def num_bytes(self) -> int:
        """The bytes held."""

    def crop(self, length: int) -> None:
        """Forget all tokens but the first `length`."""

    def select(self, rows: Int[Tensor, " n"]) -> None:
        """Keep these sequences, in this order."""


@runtime_checkable
class LayerCache(KeptLayer, Protocol):
    """A cache as a layer needs it: KVCache, RollingCache, PagedCache and QuantizedCache."""

    def append(
        self, key: Float[Tensor, "B H_kv T d_k"], value: Float[Tensor, "B H_kv T d_k"]
    ) -> None:
        """Keep the keys and values of the next tokens."""

    def attend(self, query: Float[Tensor, "B H T d_k"]) -> Float[Tensor, "B H T d_k"]:
        """Return what the queries of the last tokens read, each from the tokens up to its own."""


class ModelCache(MovableRows):
    """The caches of all layers, and where each sequence of a padded batch begins.

    Args:
        layers: One cache for each layer of the model.
        first: How many tokens at the left of each sequence are padding; None means none. Only
            a KVCache and an empty RollingCache can leave them out.

    Raises:
        ValueError: There is padding with a cache other than these two.
    """

    def __init__(self, layers: Sequence[KeptLayer], first: Int[Tensor, " B"] | None = None) -> None:
        check_instance(Sequence, layers=layers)
        for number, one in enumerate(layers):
            check_instance(KeptLayer, **{f"layer {number}": one})
        if first is not None:
            check_integers("B", first=first)
        if not layers:
            raise ValueError("layers must hold one cache for each layer, got none")
        others = {
            type(one).__name__ for one in layers if not isinstance(one, KVCache | RollingCache)
        }
        if first is not None and others:
            raise ValueError(
                f"padding needs a KVCache or a RollingCache in every layer, got {min(others)}"
            )
        self.layers, self.first = list(layers), first
        for one in layers:
            if first is not None and isinstance(one, RollingCache):
                one.begin(first)

    @property
    def length(self) -> int:
        """The number of tokens read so far."""
        return self.layers[0].length

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return self.layers[0].batch

    @property
    def num_bytes(self) -> int:
        """The bytes that the caches of all layers hold."""
        return sum(layer.num_bytes for layer in self.layers)

    def crop(self, length: int) -> None:
        """Forget all tokens but the first `length`, in every layer.

        Raises:
            ValueError: A layer no longer holds that many tokens.
        """
        # The narrowest window goes first, so that nothing is cropped if it refuses.
        for layer in sorted(self.layers, key=lambda one: getattr(one, "window", math.inf)):
            layer.crop(length)

    def _select(self, rows: Tensor) -> None:
        for layer in self.layers:
            layer.select(rows)
        self.first = None if self.first is None else self.first[rows.long()]
