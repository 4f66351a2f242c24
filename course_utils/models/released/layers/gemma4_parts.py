"""Parts of Gemma 4's text model that differ from Gemma 3's: values, widths by layer, a scalar.

Source: modeling_gemma4.py of https://github.com/huggingface/transformers
Ours / theirs: keys_as_values = attention_k_eq_v in layers that see everything
Differs: what no part of ours has is refused: embeddings for each layer, layers that read the keys
    of others, experts
Same contract as: Gemma4TextAttention and Gemma4TextDecoderLayer
"""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.models.gpt.layer import Sizes, linear
from course_utils.models.released.families.llama_design import Design
from course_utils.models.released.layers.gemma_parts import SandwichLayer
from course_utils.models.released.layers.llama_attention import LlamaAttention


class Gemma4Attention(LlamaAttention):
    """Attention with widths of its own and values that are normalised, without a gain.

    Args:
        sizes: d_model, the query heads, and a third number that `num_kv_heads` replaces.
        design: The parts of the family.
        d_k: Width of a head.
        num_kv_heads: Heads of keys and values.
        keys_as_values: Whether the values are the keys as they are before their norm.
        **given: As `LlamaAttention` takes them.
    """

    def __init__(
        self, sizes: Sizes, *, design: Design, d_k: int, num_kv_heads: int,
        keys_as_values: bool = False, **given: Any,
    ) -> None:  # fmt: skip
        sizes = (*sizes[:2], num_kv_heads)
        super().__init__(sizes, design=replace(design, d_k=d_k), **given)
        self._keys_as_values, self._eps = keys_as_values, design.eps
        if keys_as_values:
            heads = self.num_heads + num_kv_heads
            self.in_proj = linear(sizes[0], heads * d_k, bias=design.bias)

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        heads = self.in_proj(x).view(*x.shape[:2], -1, self.d_k).transpose(1, 2)
        query, key, *value = heads.split_with_sizes(self._parts(), dim=1)
        values = F.rms_norm(value[0] if value else key, (self.d_k,), eps=self._eps)
        return *self._normed(query, key), values

    def _parts(self) -> list[int]:
        return [self.num_heads, *[self.num_kv_heads] * (1 if self._keys_as_values else 2)]


class ScaledSandwichLayer(SandwichLayer):
    """A layer whose whole stream is multiplied by a number at the end; gradients do not train it.

    Arguments are those of `SandwichLayer`.
    """

    layer_scalar: Tensor

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.register_buffer("layer_scalar", torch.ones(1))

    def forward(
        self, x: Float[Tensor, "B T d_model"], *where: object
    ) -> Float[Tensor, "B T d_model"]:
        """Return the stream after the layer."""
        return super().forward(x, *where) * self.layer_scalar
