"""One layer of a GPT: attention to the past, which a cache may keep, then a feed-forward layer.

Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3;
    shared key/value heads: Ainslie et al. 2023, GQA, section 2.2, https://arxiv.org/abs/2305.13245
Ours / theirs: in_proj = c_attn;  attention_norm, feed_forward_norm = ln_1, ln_2
Differs: the parts are passed in, so that Llama is the same layer with other parts.
"""

from collections.abc import Callable
from typing import Any, Literal, cast, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import causal_mask, merge_heads, window_mask
from course_utils.attention.caches.plain import KVCache
from course_utils.attention.caches.rolling import RollingCache
from course_utils.models.model_cache import KeptLayer, LayerCache
from course_utils.positions import LearnedPositions, PositionScheme, RotaryPositions
from course_utils.validation import (
    check_at_least,
    check_callable,
    check_instance,
    check_num_heads,
)

Positions = Literal["learned", "rope"]
Sizes = tuple[int, int, int]  # d_model, the query heads, the heads of keys and values


def named_positions(
    positions: Positions | PositionScheme, max_length: int, d_model: int, d_k: int
) -> PositionScheme:
    """Return a scheme as it is, or the one of that name."""
    if isinstance(positions, PositionScheme):
        return positions
    check_instance(str, positions=positions)
    if positions not in get_args(Positions):
        raise ValueError(f"positions must be one of {get_args(Positions)}, got {positions!r}")
    return LearnedPositions(max_length, d_model) if positions == "learned" else RotaryPositions(d_k)


def laid_out(matrix: Tensor) -> Tensor:
    """Return the matrix of a Linear, laid out for multiplying a single row.

    Such a product, which is all that a decoding step needs, reads the whole matrix for few sums,
    and is faster where the matrix is contiguous along its longer side: torch's own layout where it
    narrows, GPT-2's where it does not.
    """
    return matrix.contiguous() if matrix.shape[0] < matrix.shape[1] else matrix.T.contiguous().T


def linear(width_in: int, width_out: int, *, bias: bool = True) -> nn.Linear:
    """Return torch's Linear, the same function under the same names, with its matrix laid out.

    Args:
        width_in: Width of what it is given.
        width_out: Width of what it returns.
        bias: Whether it adds a bias.
    """
    made = nn.Linear(width_in, width_out, bias=bias)
    made.weight = nn.Parameter(laid_out(made.weight.detach()))
    return made


class CausalAttention(nn.Module):
    """Self-attention in which heads may share keys and values.

    Args:
        d_model: Width of the stream.
        num_heads: Query heads.
        num_kv_heads: Heads of keys and values; they divide the query heads.
        window: How many tokens a query sees, its own among them; None is all up to its own.
        bias: Whether the projection to queries, keys and values adds a bias.
        out_bias: Whether the output projection does; None is as `bias`.
        d_k: Width of a head; None is d_model / num_heads.
        attend: `attend(query, key, value, mask)`, instead of torch's attention.
        mask: `mask(length)`, instead of the causal or window mask.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        window: int | None = None,
        *,
        bias: bool = True,
        out_bias: bool | None = None,
        d_k: int | None = None,
        attend: Callable[..., Tensor] | None = None,
        mask: Callable[[int], Tensor] | None = None,
    ) -> None:
        super().__init__()
        check_callable(attend=causal_mask if attend is None else attend)
        check_callable(mask=causal_mask if mask is None else mask)
        self.attend, self._given_mask = attend, mask
        check_num_heads(num_heads, d_model if d_k is None else num_heads)
        check_at_least(1, num_kv_heads=num_kv_heads, window=1 if window is None else window)
        if num_heads % num_kv_heads:
            raise ValueError(f"num_kv_heads must divide num_heads {num_heads}, got {num_kv_heads}")
        self.d_k, self.window = d_model // num_heads if d_k is None else d_k, window
        check_at_least(1, d_k=self.d_k)
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.in_proj = linear(d_model, (num_heads + 2 * num_kv_heads) * self.d_k, bias=bias)
        out_bias = bias if out_bias is None else out_bias
        self.out_proj = linear(num_heads * self.d_k, d_model, bias=out_bias)

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        scheme: PositionScheme,
        positions: Shaped[Tensor, "*B T"],
        first: Int[Tensor, " B"] | None = None,
        cache: LayerCache | None = None,
        fresh: bool = True,
    ) -> Float[Tensor, "B T d_model"]:
        """Return what each token reads up to its own position.

        Args:
            x: The stream of the tokens.
            scheme: Rotates queries and keys.
            positions: The tokens' positions.
            first: How many tokens at the left of each sequence are padding.
            cache: Takes the keys and values, without their gradients.
            fresh: Whether there is nothing before these tokens; otherwise it is in the cache.
        """
        query, key, value = self._heads(x)
        query, key = scheme.rotate(query, key, positions, positions)
        if cache is not None:
            cache.append(key.detach(), value.detach())
        if cache is None or fresh:
            found = self._attend(query, key, value, first)
        else:
            found = self._attend_past(query, cache, first)
        return self._out(merge_heads(found), x)

    def new_cache(
        self, batch: int, room: int, made: Callable[..., LayerCache] | None = None, **place: Any
    ) -> KeptLayer:
        """Return an empty cache of what this layer keeps: a rolling one where it has a window.

        Args:
            batch: How many sequences there are.
            room: How many tokens there is room for.
            made: Makes it, called as `KVCache` is; None is the layer's own choice.
            **place: Its dtype and device.
        """
        if self.window is None or made is not None:
            return (made or KVCache)(batch, self.num_kv_heads, room, self.d_k, **place)
        return RollingCache(batch, self.num_kv_heads, self.d_k, window=self.window, **place)

    def _out(self, found: Tensor, x: Tensor) -> Tensor:
        """Return what is added to the stream, from what the heads found for the tokens x."""
        return self.out_proj(found)

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the heads' queries, keys and values, as they are before rotation."""
        heads = self.in_proj(x).view(*x.shape[:2], -1, self.d_k).transpose(1, 2)
        sizes = (self.num_heads, self.num_kv_heads, self.num_kv_heads)
        query, key, value = heads.split_with_sizes(sizes, dim=1)
        return query, key, value

    def _attend_past(self, query: Tensor, cache: LayerCache, first: Tensor | None) -> Tensor:
        """Return what the newest queries read from a cache that holds their own keys too."""
        if first is not None:
            return cast(KVCache, cache).attend(query, first)  # a ModelCache has checked that
        return cache.attend(query)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, first: Tensor | None) -> Tensor:
        length = query.shape[2]
        mask = self._mask(length, query.device, always=self.attend is not None)
        if first is not None:
            real = torch.arange(length, device=query.device) >= first.view(-1, 1, 1, 1)
            mask = real & (causal_mask(length, length).to(real.device) if mask is None else mask)
        if self.attend is not None:
            return self.attend(query, key, value, mask)
        return F.scaled_dot_product_attention(
            query, key, value, mask, is_causal=mask is None,
            enable_gqa=self.num_kv_heads < self.num_heads,
        )  # fmt: skip

    def _mask(self, length: int, device: torch.device, always: bool) -> Tensor | None:
        """Return which queries see which keys; None is causal, where no table is needed."""
        if self._given_mask is not None:
            return self._given_mask(length).to(device)
        if self.window is not None and self.window < length:
            return window_mask(length, length, self.window).to(device)
        return causal_mask(length, length).to(device) if always else None


class GPTLayer(nn.Module):
    """Attention, then a feed-forward layer; inputs are normalised, outputs added to the stream.

    Args:
        attention: What reads other tokens.
        feed_forward: What processes each token separately.
        norm: Makes a norm; each of the two parts has its own.
    """

    def __init__(
        self, attention: CausalAttention, feed_forward: nn.Module, norm: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.attention_norm, self.attention = norm(), attention
        self.feed_forward_norm, self.feed_forward = norm(), feed_forward

    def forward(
        self, x: Float[Tensor, "B T d_model"], *where: object
    ) -> Float[Tensor, "B T d_model"]:
        """Return the stream after the layer; `where` is passed on to the attention."""
        x = x + self.attention(self.attention_norm(x), *where)
        return x + self.feed_forward(self.feed_forward_norm(x))
