"""Functions handed to a model in the places of the course's own: a learner's answers, for example.

Whatever keeps the contract of the function it replaces fits.
"""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.attention.kv_cache import KVCache, append_kv, decode_step
from course_utils.positions import PositionScheme
from course_utils.validation import check_callable


class GivenPositions(PositionScheme):
    """A scheme of positions made of functions; what is not given does nothing.

    Args:
        embed: `embed(x, positions)` returns the stream with what is added to it.
        turn: `turn(x, positions)` returns queries or keys, turned by their positions.
        bias: `bias(query, key, query_positions, key_positions)` returns what is added to the
            scaled scores.
    """

    def __init__(
        self,
        *,
        embed: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: x,
        turn: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: x,
        bias: Callable[..., Tensor | None] = lambda *pairs: None,
    ) -> None:
        super().__init__()
        check_callable(embed=embed, turn=turn, bias=bias)
        self._embed, self._turn, self._bias = embed, turn, bias

    def embed(
        self, x: Float[Tensor, "B L d_model"], positions: Shaped[Tensor, "*B L"]
    ) -> Float[Tensor, "B L d_model"]:
        """Return the stream with what is added to it."""
        return self._embed(x, positions)

    def turn(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Float[Tensor, "B H L d_k"], Float[Tensor, "B H S d_k"]]:
        """Return queries and keys, each turned by its position."""
        return self._turn(query, query_positions), self._turn(key, key_positions)

    def bias(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> Float[Tensor, "#B #H L S"] | None:
        """Return what is added to the scaled scores, or None."""
        return self._bias(query, key, query_positions, key_positions)


class GivenCache(KVCache):
    """A KVCache in which two functions write and read.

    Args:
        *sizes: As KVCache takes them: batch, num_kv_heads, max_length, d_k.
        append: Writes new keys and values, as `append_kv` does.
        decode: Reads them for the newest queries, as `decode_step` does.
        **kind: As KVCache takes it: dtype and device.
    """

    def __init__(
        self,
        *sizes: int,
        append: Callable[..., int] = append_kv,
        decode: Callable[..., Tensor] = decode_step,
        **kind: Any,
    ) -> None:
        check_callable(append=append, decode=decode)
        super().__init__(*sizes, **kind)
        self._append, self._decode = append, decode

    def append(self, key: Float[Tensor, "B H_kv T d"], value: Float[Tensor, "B H_kv T d"]) -> None:
        """Keep the keys and values of T new tokens."""
        self.length = self._append(self.key, self.value, self.length, key, value)

    def attend(
        self, query: Float[Tensor, "B H T d"], first: Tensor | None = None
    ) -> Float[Tensor, "B H T d"]:
        """Return what the queries of the last T tokens find.

        Raises:
            ValueError: `first` is given: `decode_step` knows of no padding.
        """
        if first is not None:
            raise ValueError("first must be None where a decode step was handed in, got a tensor")
        return self._decode(query, self.key, self.value, self.length)
