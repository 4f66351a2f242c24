"""Functions passed to a model instead of the course's own: a learner's answers, for example.

Anything that keeps the contract of the function it replaces fits.
"""

from collections.abc import Callable
from typing import Any, cast

from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import MultiHeadAttention, merge_heads, split_heads
from course_utils.attention.caches.plain import KVCache, append_kv, decode_step
from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.positions import PositionScheme
from course_utils.validation import check_callable

Attend = Callable[..., Tensor]


class GivenPositions(PositionScheme):
    """A position scheme made of functions; what is not given does nothing.

    Args:
        embed: `embed(x, positions)` returns the stream with what is added to it.
        rotate: `rotate(x, positions)` returns queries or keys, rotated by their positions.
        bias: `bias(query, key, query_positions, key_positions)` returns what is added to the
            scaled scores.
    """

    def __init__(
        self,
        *,
        embed: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: x,
        rotate: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: x,
        bias: Callable[..., Tensor | None] = lambda *pairs: None,
    ) -> None:
        super().__init__()
        check_callable(embed=embed, rotate=rotate, bias=bias)
        self._embed, self._rotate, self._bias = embed, rotate, bias

    def embed(
        self, x: Float[Tensor, "B L d_model"], positions: Shaped[Tensor, "*B L"]
    ) -> Float[Tensor, "B L d_model"]:
        """Return the stream with what is added to it."""
        return self._embed(x, positions)

    def rotate(
        self,
        query: Float[Tensor, "B H L d_k"],
        key: Float[Tensor, "B H S d_k"],
        query_positions: Shaped[Tensor, "*B L"],
        key_positions: Shaped[Tensor, "*B S"],
    ) -> tuple[Float[Tensor, "B H L d_k"], Float[Tensor, "B H S d_k"]]:
        """Return queries and keys, each rotated by its position."""
        return self._rotate(query, query_positions), self._rotate(key, key_positions)

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
        self._length = self._append(self.key, self.value, self.length, key, value)

    def attend(
        self, query: Float[Tensor, "B H T d"], first: Tensor | None = None
    ) -> Float[Tensor, "B H T d"]:
        """Return what the queries of the last T tokens read.

        Raises:
            ValueError: `first` is given: `decode_step` does not support padding.
        """
        if first is not None:
            raise ValueError("first must be None where a decode step was handed in, got a tensor")
        return self._decode(query, self.key, self.value, self.length)


class GivenAttention(MultiHeadAttention):
    """Multi-head self-attention in which functions split the stream, attend and merge.

    Args:
        d_model: Width of the stream.
        num_heads: How many heads share it.
        split: As `split_heads`.
        attend: `attend(query, key, value, attn_mask)` in all heads, (B, H, L, d_k) each.
        merge: As `merge_heads`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        split: Callable[[Tensor, int], Tensor] = split_heads,
        attend: Attend = scaled_dot_product_attention,
        merge: Callable[[Tensor], Tensor] = merge_heads,
    ) -> None:
        super().__init__(d_model, num_heads)
        check_callable(split=split, attend=attend, merge=merge)
        self._split, self._attend, self._merge = split, attend, merge

    def forward(  # type: ignore[override]  # self-attention alone
        self,
        query: Float[Tensor, "B L d_model"],
        *,
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        keep: Bool[Tensor, " H"] | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """Return what the heads found, mixed by the output projection.

        Args:
            query: The stream.
            attn_mask: True where a query may attend.
            keep: True for each head that may speak; None keeps all.
        """
        weight = cast(Tensor, self.in_proj_weight)
        streams = F.linear(query, weight, self.in_proj_bias).chunk(3, dim=-1)
        heads = self._attend(*(self._split(one, self.num_heads) for one in streams), attn_mask)
        if keep is not None:
            heads = heads.masked_fill(~keep[:, None, None], 0.0)
        return self.out_proj(self._merge(heads))
