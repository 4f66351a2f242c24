"""The KV cache of one layer: what earlier tokens computed is kept and read again.

Source: Shazeer 2019, Fast Transformer Decoding, section 2.4 (incremental decoding),
    https://arxiv.org/abs/1911.02150
Ours / theirs: S_max = slots taken at the start;  length = how many of them are filled;  T = new
    tokens of a step, any number: a prompt at once, a prompt in pieces, or one token
Differs: the memory is allocated once and written in place; the usual `torch.cat` makes a new one at
    every token, and so copies all that it kept.
Same contract as: causal SDPA over all tokens so far, of which the last T rows are returned
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.counted import Counted
from course_utils.attention.caches.last_queries import attend_last
from course_utils.attention.caches.rows import check_slots, reorder_cache
from course_utils.validation import (
    check_at_least,
    check_integers,
    check_new,
    check_query,
    check_room,
    check_shape,
    check_storage,
)


def append_kv(
    cache_key: Float[Tensor, "B H S_max d"],
    cache_value: Float[Tensor, "B H S_max d"],
    length: int,
    key: Float[Tensor, "B H T d"],
    value: Float[Tensor, "B H T d"],
) -> int:
    """Write the keys and values of T new tokens after the first `length`, in place.

    Args:
        cache_key: The slots for keys; only those of the new tokens are written.
        cache_value: The slots for values.
        length: How many slots are filled.
        key: What the new tokens offer.
        value: What they hand over.

    Returns:
        How many slots are filled now.

    Raises:
        ValueError: The length is outside the cache, or the new tokens do not fit after it. Nothing
            is written then.
    """
    check_slots(cache_key, cache_value, length)
    check_new(cache_key, key, value)
    check_room(length, key.shape[2], cache_key.shape[2])
    end = length + key.shape[2]
    # Without detach, the cache would keep the graph of every step that ever wrote to it.
    cache_key[:, :, length:end] = key.detach()
    cache_value[:, :, length:end] = value.detach()
    return end


def decode_step(
    query: Float[Tensor, "B H T d"],
    cache_key: Float[Tensor, "B H_kv S_max d"],
    cache_value: Float[Tensor, "B H_kv S_max d"],
    length: int,
) -> Float[Tensor, "B H T d"]:
    """Return causal attention of the T newest positions to the first `length` slots of a cache.

    Args:
        query: What the positions length - T to length - 1 ask for; H_kv divides H.
        cache_key: The slots for keys; those past `length` are not read, whatever they hold.
        cache_value: The slots for values.
        length: How many slots are filled, those of the T newest positions among them.

    Raises:
        ValueError: T does not lie between 1 and the length.
    """
    check_slots(cache_key, cache_value, length)
    check_query(query, cache_key, length)
    return attend_last(query, cache_key[:, :, :length], cache_value[:, :, :length])


class KVCache(Counted):
    """Keys and values of one layer, in memory that is allocated once.

    Attributes:
        key: The slots for keys, (B, H_kv, max_length, d_k); the first `length` are filled.
        value: The slots for values, the same.
    """

    def __init__(
        self,
        batch: int,
        num_kv_heads: int,
        max_length: int,
        d_k: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        """Allocate memory for `max_length` tokens in each of `batch` sequences."""
        check_at_least(1, batch=batch, num_kv_heads=num_kv_heads, max_length=max_length, d_k=d_k)
        check_storage(dtype, device)
        shape = (batch, num_kv_heads, max_length, d_k)
        self.key = torch.zeros(shape, dtype=dtype, device=device)
        self.value = torch.zeros(shape, dtype=dtype, device=device)

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self.key)

    @property
    def num_bytes(self) -> int:
        """The bytes that the slots take, filled or not."""
        return self.key.nbytes + self.value.nbytes

    def append(self, key: Float[Tensor, "B H_kv T d"], value: Float[Tensor, "B H_kv T d"]) -> None:
        """Keep the keys and values of T new tokens; errors as in `append_kv`."""
        self._length = append_kv(self.key, self.value, self.length, key, value)

    def attend(
        self, query: Float[Tensor, "B H T d"], first: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B H T d"]:
        """Return causal attention of the queries of the last T tokens to all tokens so far.

        Args:
            query: What the last T appended tokens ask for; H_kv divides H.
            first: Where each sequence of a batch begins, if shorter ones were padded on the left;
                no query attends to a key before it.

        Raises:
            ValueError: T does not lie between 1 and the length.
        """
        check_query(query, self.key, self.length)
        if first is not None:
            check_integers("B", first=first)
            check_shape((self.key.shape[0],), first=first)
        key, value = self.key[:, :, : self.length], self.value[:, :, : self.length]
        return attend_last(query, key, value, first)

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the keys and values held, (B, H_kv, S, d), without a copy, and their positions."""
        places = torch.arange(self.length, device=self.key.device)
        return self.key[:, :, : self.length], self.value[:, :, : self.length], places

    def _select(self, rows: Tensor) -> None:
        if len(rows) == self.batch:
            reorder_cache(self.key, self.value, self.length, rows)
        else:
            self.key, self.value = self.key[rows.long()], self.value[rows.long()]
