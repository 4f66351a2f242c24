"""Causal attention made of a family's parts: norms of heads, a scale, what attends, a window.

Source: norms of queries and keys: Henry et al. 2020, Query-Key Normalization for Transformers,
    https://arxiv.org/abs/2010.04245, with RMSNorm as in Qwen 3, https://arxiv.org/abs/2505.09388
    and over all heads at once in OLMo 2, https://arxiv.org/abs/2501.00656
    gate: Qiu et al. 2025, Gated Attention for Large Language Models, https://arxiv.org/abs/2505.06708
Ours / theirs: query_norm, key_norm = q_norm, k_norm;  scale = query_pre_attn_scalar ** -0.5
Differs: the scale is a factor on the queries, so that it works with every cache and kernel
"""

import math
from typing import Any, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from course_utils.attention import merge_heads, split_heads
from course_utils.models.gpt.layer import CausalAttention, Sizes, linear
from course_utils.models.model_cache import LayerCache
from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.positions import PositionScheme
from course_utils.validation import check_instance


@runtime_checkable
class ReadableCache(LayerCache, Protocol):
    """A cache that returns what it holds, as the course's own four do."""

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return keys, values and their positions, in any order."""


class LlamaAttention(CausalAttention):
    """Self-attention of a layer, with the parts of a design.

    Args:
        sizes: d_model, the query heads, and the heads of keys and values.
        design: The parts of the family.
        kind: What this layer is.
        **given: As CausalAttention takes them: attend and mask.

    Raises:
        ValueError: An attention function was given, although the design has its own.
    """

    def __init__(self, sizes: Sizes, *, design: Design, kind: LayerKind, **given: Any) -> None:
        own = None if design.attend is None else design.attend(sizes[1])
        if own is not None and given.get("attend") is not None:
            raise ValueError("attend must be None where the design has its own, got a function")
        given["attend"] = own or given.get("attend")
        super().__init__(
            *sizes, kind.window, bias=design.bias, out_bias=design.out_bias, d_k=design.d_k, **given
        )
        self.positions = None if kind.positions is None else kind.positions(self.d_k)
        self._joint_norm = design.joint_norm
        self.query_norm, self.key_norm = (
            None if design.head_norm is None
            else design.head_norm(self.d_k * (heads if design.joint_norm else 1), design.eps)
            for heads in (self.num_heads, self.num_kv_heads)
        )  # fmt: skip
        self._factor = 1.0 if design.scale is None else design.scale * math.sqrt(self.d_k)
        self._composed = own is not None

    def forward(
        self, x: Float[Tensor, "B T d_model"], scheme: PositionScheme, *where: Any
    ) -> Float[Tensor, "B T d_model"]:
        """Return what each token reads; a layer with positions of its own uses those."""
        return super().forward(x, self.positions or scheme, *where)

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = super()._heads(x)
        query, key = self._normed(query, key)
        return query, key, value

    def _normed(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries and keys, normalised and scaled."""
        if self.query_norm is not None and self.key_norm is not None:
            if self._joint_norm:
                query, key = merge_heads(query), merge_heads(key)
            query, key = self.query_norm(query), self.key_norm(key)
            if self._joint_norm:
                query = split_heads(query, self.num_heads)
                key = split_heads(key, self.num_kv_heads)
        return (query if self._factor == 1.0 else query * self._factor), key

    def _attend_past(self, query: Tensor, cache: LayerCache, first: Tensor | None) -> Tensor:
        if not self._composed or self.attend is None:
            return super()._attend_past(query, cache, first)
        check_instance(ReadableCache, cache=cache)
        key, value, places = cast(ReadableCache, cache).read()
        own = torch.arange(cache.length - query.shape[2], cache.length, device=places.device)
        mask = self._seen(own, places)
        if first is not None:
            mask = mask & (places >= first.view(-1, 1, 1, 1))
        return self.attend(query, key, value, mask)

    def _seen(self, own: Shaped[Tensor, " T"], places: Shaped[Tensor, " S"]) -> Tensor:
        behind = own.unsqueeze(-1) - places
        seen = behind >= 0
        return seen if self.window is None else seen & (behind < self.window)


class GatedLlamaAttention(LlamaAttention):
    """Attention whose output passes a gate, number by number, before its last projection.

    Arguments are those of `LlamaAttention`; the gate is that of `gated_attention`.
    """

    def __init__(self, sizes: Sizes, **given: Any) -> None:
        super().__init__(sizes, **given)
        self.gate = linear(sizes[0], self.num_heads * self.d_k, bias=False)

    def _out(self, found: Tensor, x: Tensor) -> Tensor:
        return super()._out(found * self.gate(x).sigmoid(), x)
