"""A cache that forgets: the last `window` tokens, and a few of the very first, for any length.

Source: Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, section 3.2,
    https://arxiv.org/abs/2309.17453; the ring of `window` slots is Jiang et al. 2023, Mistral 7B,
    section 2, https://arxiv.org/abs/2310.06825
Ours / theirs: num_sinks = the initial tokens that are never evicted;  window = W of Mistral: a
    query sees at most that many of the newest keys, its own included
Differs: a rotated key keeps the rotation of the position where it was appended. The first source
    rotates again by the position inside the cache, so that no distance exceeds its size.
Same contract as: SDPA under the mask j <= i and (j < num_sinks or j > i - window)
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.counted import Counted
from course_utils.attention.caches.last_queries import attend_last
from course_utils.attention.caches.rolling_window import NEVER, attend_run, check_held
from course_utils.validation import (
    check_at_least,
    check_integers,
    check_new,
    check_query,
    check_shape,
    check_storage,
)


class RollingCache(Counted):
    """Keys and values of the first `num_sinks` and the last `window` tokens of one layer.

    Several tokens may arrive at once, more than there are slots. Their keys are also held until
    the next call of `append`, since the first of their queries sees what the last ones displace.
    The length has no limit. Once tokens have been displaced, `crop` can only go back to the sinks.

    Attributes:
        window: How many of the newest keys a query sees, its own among them.
        num_sinks: How many of the first keys it also sees.
        first: Where each sequence begins, as given to `begin`; None is at the first token.
        key: The slots for keys, (B, H_kv, num_sinks + window, d_k).
        value: The slots for values, the same.
    """

    def __init__(
        self,
        batch: int,
        num_kv_heads: int,
        d_k: int,
        *,
        window: int,
        num_sinks: int = 0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        """Allocate memory for `num_sinks + window` tokens in each of `batch` sequences."""
        check_at_least(1, batch=batch, num_kv_heads=num_kv_heads, d_k=d_k, window=window)
        check_at_least(0, num_sinks=num_sinks)
        check_storage(dtype, device)
        shape = (batch, num_kv_heads, num_sinks + window, d_k)
        self.key = torch.zeros(shape, dtype=dtype, device=device)
        self.value = torch.zeros(shape, dtype=dtype, device=device)
        self.window, self.num_sinks = window, num_sinks
        self.first: Tensor | None = None
        self._run: tuple[Tensor, Tensor, Tensor] | None = None
        self._last = 0

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self.key)

    @property
    def num_bytes(self) -> int:
        """The bytes that the slots take, filled or not."""
        return self.key.nbytes + self.value.nbytes

    def begin(self, first: Int[Tensor, " B"]) -> None:
        """Set where each sequence begins: no query sees what is before, and it has its own sinks.

        Raises:
            ValueError: Tokens were already appended.
        """
        check_integers("B", first=first)
        check_shape((self.batch,), first=first)
        if self.length:
            raise ValueError(f"the cache must be empty to begin, got {self.length} tokens")
        self.first = first.long()

    def append(self, key: Float[Tensor, "B H_kv T d"], value: Float[Tensor, "B H_kv T d"]) -> None:
        """Keep the keys and values of T new tokens; each takes the slot of the oldest.

        Errors are those of `append_kv`, but there is always room.
        """
        check_new(self.key, key, value)
        key, value, new = key.detach(), value.detach(), key.shape[2]
        self._run, self._last = self._with_past(key, value) if new > 1 else None, new
        start, self._length = self.length, self.length + new
        begun = [0] if self.first is None else self.first.tolist()
        # What is a sink of every sequence needs no slot among the newest.
        first_kept = max(start, self.num_sinks + min(begun), self.length - self.window)
        oldest = min(first_kept, self.length)
        slots = self._slots(torch.arange(oldest, self.length))
        self.key[:, :, slots] = key[:, :, oldest - start :]
        self.value[:, :, slots] = value[:, :, oldest - start :]
        for sink in range(self.num_sinks if start < self.num_sinks + max(begun) else 0):
            for row, at in enumerate(begun * (self.batch // len(begun))):
                if start <= at + sink < self.length:
                    self.key[row, :, sink] = key[row, :, at + sink - start]
                    self.value[row, :, sink] = value[row, :, at + sink - start]

    def attend(
        self, query: Float[Tensor, "B H T d"], first: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B H T d"]:
        """Return attention of the queries of the last T tokens, each to its sinks and its window.

        Args:
            query: What the last T tokens ask for; the last call of `append` brought them all.
            first: What `begin` was given, if anything; it may be left out.

        Raises:
            ValueError: T exceeds what the last call appended, or `begin` was given another `first`.
        """
        check_query(query, self.key, self._last)
        if first is not None:
            check_integers("B", first=first)
            if self.first is None or not torch.equal(first, self.first):
                told = None if self.first is None else self.first.tolist()
                raise ValueError(f"first must be what begin was told, {told}, got {first.tolist()}")
        run = self._run if query.shape[2] > 1 else None
        if run is None and self.first is not None:
            run = self._held(self.length, self.window)
        if run is not None:
            own = self._places(self.length - query.shape[2], self.length)
            return attend_run(query, *run, own, self.window, self.num_sinks)
        # The slots are out of order, which a softmax over all of them does not notice.
        filled = min(self.length, self.num_sinks + self.window)
        return attend_last(query, self.key[:, :, :filled], self.value[:, :, :filled])

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the keys and values that the newest queries may see, and where they were appended.

        Raises:
            ValueError: Each sequence has sinks of its own, so that no list of places fits all.
        """
        key, value, place = self._run or self._held(self.length, self.window)
        if not self.num_sinks:
            return key, value, torch.arange(self.length - key.shape[2], self.length)
        if self.first is not None:
            raise ValueError("read needs sequences that begin together, got first with sinks")
        kept = place[0] < NEVER
        return key[:, :, kept], value[:, :, kept], place[0, kept]

    def _forget(self, length: int) -> None:
        begun = [0] if self.first is None else self.first.tolist()
        check_held(self.length, length, begun, self.window, self.num_sinks)
        if length < self.length:
            self._run, self._last = None, min(length, 1)

    def _select(self, rows: Tensor) -> None:
        rows = rows.long()
        self.key, self.value = self.key[rows], self.value[rows]
        self.first = None if self.first is None else self.first[rows]
        self._run, self._last = None, min(self._last, 1)

    def _slots(self, index: Tensor) -> Tensor:
        """Return the slots of tokens that are not sinks, wherever their sequences begin."""
        return self.num_sinks + (index - self.num_sinks) % self.window

    def _places(self, start: int, end: int) -> Tensor:
        """Return the positions of tokens in each sequence, or in all; padding is below 0."""
        index = torch.arange(start, end, device=self.key.device)
        return index[None] if self.first is None else index - self.first[:, None]

    def _held(self, end: int, window: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the sinks and the last `window` of `end` tokens, and their positions."""
        near = self._places(max(0, end - window), end)
        near = near.masked_fill(near < self.num_sinks, NEVER)
        sinks = torch.arange(self.num_sinks, device=near.device)
        slots = torch.cat([sinks, self._slots(torch.arange(max(0, end - window), end))])
        sinks = sinks.masked_fill(sinks >= self._places(end, end + 1), NEVER)
        return self.key[:, :, slots], self.value[:, :, slots], torch.cat([sinks, near], dim=1)

    def _with_past(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the new keys and values after those that they still see, and their positions."""
        past = self._held(self.length, self.window - 1)
        new = self._places(self.length, self.length + key.shape[2])
        new = new.masked_fill(new < 0, NEVER)
        keys, values = (torch.cat(pair, dim=2) for pair in zip(past, (key, value), strict=False))
        return keys, values, torch.cat([past[2], new], dim=1)
