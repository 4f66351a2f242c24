"""A cache that forgets: the last `window` tokens, and a few of the very first, for any length.

Source: Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, section 3.2,
    https://arxiv.org/abs/2309.17453; the ring of `window` slots is Jiang et al. 2023, Mistral 7B,
    section 2, https://arxiv.org/abs/2310.06825
Ours / theirs: num_sinks = the initial tokens that are never evicted;  window = W of Mistral: a
    query sees at most so many of the newest keys, its own among them
Differs: a rotated key keeps the rotation of the position where it was appended. The first source
    rotates anew by the place inside the cache, so that no distance exceeds its size.
Same contract as: SDPA under the mask j <= i and (j < num_sinks or j > i - window)
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention._counted import Counted
from course_utils.attention._last_queries import attend_groups, attend_last
from course_utils.validation import check_at_least, check_new, check_query, check_storage

ROWS = 64  # queries of a prompt that meet their keys together


def rolling_cache_positions(num_seen: int, window: int, num_sinks: int) -> list[int]:
    """List the positions that a rolling cache still holds, ascending.

    Args:
        num_seen: How many tokens there were so far.
        window: How many of the last ones are kept.
        num_sinks: How many of the first ones are kept.

    Raises:
        TypeError: A number is not an int.
        ValueError: A number is negative.
    """
    check_at_least(0, num_seen=num_seen, window=window, num_sinks=num_sinks)
    sinks = min(num_sinks, num_seen)
    return [*range(sinks), *range(max(sinks, num_seen - window), num_seen)]


class RollingCache(Counted):
    """Keys and values of the first `num_sinks` and the last `window` tokens of one layer.

    Several tokens may come at once, more than there are slots. Their keys are held besides until
    the next call of `append`, since the first of their queries sees what the last ones displace.
    The length has no limit. Once tokens were displaced, `crop` can only go back to the sinks.

    Attributes:
        window: How many of the newest keys a query sees, its own among them.
        num_sinks: How many of the first keys it sees besides.
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
        """Take the memory for `num_sinks + window` tokens in each of `batch` sequences.

        Raises:
            TypeError: A size is not an int, or the dtype is not floating.
            ValueError: num_sinks is negative, or another size below 1.
        """
        check_at_least(1, batch=batch, num_kv_heads=num_kv_heads, d_k=d_k, window=window)
        check_at_least(0, num_sinks=num_sinks)
        check_storage(dtype, device)
        shape = (batch, num_kv_heads, num_sinks + window, d_k)
        self.key = torch.zeros(shape, dtype=dtype, device=device)
        self.value = torch.zeros(shape, dtype=dtype, device=device)
        self.window, self.num_sinks = window, num_sinks
        self._run: tuple[Tensor, Tensor, Tensor] | None = None
        self._last = 0

    @property
    def num_bytes(self) -> int:
        """How many bytes the slots take, filled or not."""
        return self.key.nbytes + self.value.nbytes

    def append(self, key: Float[Tensor, "B H_kv T d"], value: Float[Tensor, "B H_kv T d"]) -> None:
        """Keep the keys and values of T new tokens; each takes the slot of the oldest.

        Raises:
            TypeError: The dtypes differ from the cache's.
            ValueError: Shapes do not fit.
        """
        check_new(self.key, key, value)
        key, value, new = key.detach(), value.detach(), key.shape[2]
        self._run, self._last = self._with_past(key, value) if new > 1 else None, new
        start, self._length = self.length, self.length + new
        oldest = max(start, self.num_sinks, self.length - self.window)
        kept = [*range(start, min(self.num_sinks, self.length)), *range(oldest, self.length)]
        slots = [self._slot(position) for position in kept]
        rows = [position - start for position in kept]
        self.key[:, :, slots] = key[:, :, rows]
        self.value[:, :, slots] = value[:, :, rows]

    def attend(self, query: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T d"]:
        """Return attention of the queries of the last T tokens, each to its sinks and its window.

        Args:
            query: What the last T tokens ask for; the last call of `append` brought them all.

        Raises:
            TypeError: The dtypes differ.
            ValueError: Shapes do not fit, or T exceeds what the last call appended.
        """
        check_query(query, self.key, self._last)
        if query.shape[2] > 1 and self._run is not None:
            return torch.cat(list(self._attend_run(query, *self._run)), dim=2)
        # The slots are out of order, which a softmax over all of them does not notice.
        filled = min(self.length, self.num_sinks + self.window)
        return attend_last(query, self.key[:, :, :filled], self.value[:, :, :filled])

    def _forget(self, length: int) -> None:
        held = rolling_cache_positions(self.length, self.window, self.num_sinks)
        lost = set(rolling_cache_positions(length, self.window, self.num_sinks)).difference(held)
        if lost:
            raise ValueError(
                f"length must be {self.length} or one whose window is still held, got {length}: "
                f"position {min(lost)} was displaced"
            )
        if length < self.length:
            self._run, self._last = None, min(length, 1)

    def _slot(self, position: int) -> int:
        beyond = position - self.num_sinks
        return position if beyond < 0 else self.num_sinks + beyond % self.window

    def _with_past(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the new keys and values behind those that they still see, and all positions."""
        past = rolling_cache_positions(self.length, self.window - 1, self.num_sinks)
        slots = [self._slot(position) for position in past]
        places = torch.tensor([*past, *range(self.length, self.length + key.shape[2])])
        return (
            torch.cat([self.key[:, :, slots], key], dim=2),
            torch.cat([self.value[:, :, slots], value], dim=2),
            places.to(key.device),
        )

    def _attend_run(
        self, query: Tensor, key: Tensor, value: Tensor, place: Tensor
    ) -> Iterator[Tensor]:
        """Yield the output of a few queries after the other, so that the cost stays T · window."""
        start = self.length - query.shape[2]
        for rows in query.split(ROWS, dim=2):
            own = torch.arange(start, start + rows.shape[2], device=place.device).unsqueeze(-1)
            near = (place < self.num_sinks) | (place > start - self.window)
            near &= place < start + rows.shape[2]
            here = place[near]
            seen = (here <= own) & ((here < self.num_sinks) | (here > own - self.window))
            yield attend_groups(rows, key[:, :, near], value[:, :, near], seen)
            start += rows.shape[2]
