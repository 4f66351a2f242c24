"""A Transformer's layers as modules: attention, norms and the feed-forward layer are learned.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.1 and Figure 1,
    https://arxiv.org/abs/1706.03762
Ours / theirs: the parameters have the names of torch.nn.TransformerEncoderLayer and
    TransformerDecoderLayer, so a state_dict of one loads into the other; pre_norm = norm_first
Differs: masks are boolean and True = may attend (theirs: True = may not); batch first; no dropout
Same contract as: both, in training mode and dropout 0
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.attention import MultiHeadAttention
from course_utils.models.transformer.feed_forward import activation_named
from course_utils.models.transformer.layers import decoder_layer, encoder_layer
from course_utils.validation import check_at_least, check_callable, check_fed, check_instance

NAMES = ("layer_norm", "feed_forward", "encoder_layer", "decoder_layer")


class Norm(nn.LayerNorm):
    """torch's LayerNorm, with a function that may replace it.

    Args:
        d_model: Width of the stream.
        given: `given(x, gain, bias, eps)`, as `layer_norm`; None is torch's.
    """

    def __init__(self, d_model: int, given: Callable[..., Tensor] | None = None) -> None:
        super().__init__(d_model)
        self._given = given

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Return the normalised stream."""
        if self._given is None:
            return super().forward(x)
        return self._given(x, self.weight, self.bias, self.eps)


class _Layer(nn.Module):
    """A base of both layers."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        pre_norm: bool = True,
        activation: str = "relu",
        **functions: Callable[..., Tensor],
    ) -> None:
        super().__init__()
        check_at_least(1, d_ff=d_ff)
        check_instance(bool, pre_norm=pre_norm)
        self._activate = activation_named(activation)
        unknown = functions.keys() - set(NAMES)
        if unknown:
            raise TypeError(f"functions must be among {', '.join(NAMES)}, got {min(unknown)}")
        check_callable(**functions)
        self.pre_norm, self.activation, self._given = pre_norm, activation, functions
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = (Norm(d_model, functions.get("layer_norm")) for _ in range(2))

    def _feed_forward(self, x: Tensor) -> Tensor:
        one, two = self.linear1, self.linear2
        if "feed_forward" not in self._given:
            return two(self._activate(one(x)))
        parts = one.weight.mT, one.bias, two.weight.mT, two.bias
        return self._given["feed_forward"](x, *parts, self.activation)


class EncoderLayer(_Layer):
    """Self-attention, then a feed-forward layer.

    Args:
        d_model: Width of the stream.
        num_heads: Heads of the attention.
        d_ff: Width of the hidden layer.
        pre_norm: Whether each part reads the normalised stream; else each sum is normalised.
        activation: As `feed_forward` takes it.
        **functions: Replace the course's own: layer_norm, feed_forward, encoder_layer.
    """

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """Return the stream after the layer.

        Args:
            x: The stream.
            attn_mask: True where a position may attend; None hides nothing.
        """
        check_fed(self.linear1.weight, x=x)

        def attend(asks: Tensor) -> Tensor:
            return self.self_attn(asks, attn_mask=attn_mask)

        wire = self._given.get("encoder_layer", encoder_layer)
        return wire(x, attend, self._feed_forward, self.norm1, self.norm2, self.pre_norm)


class DecoderLayer(_Layer):
    """Self-attention, attention to a memory, then a feed-forward layer.

    Args:
        d_model: Width of the stream and of the memory.
        num_heads: Heads of each attention.
        d_ff: Width of the hidden layer.
        **options: As EncoderLayer takes them, with decoder_layer among the functions.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, **options: Any) -> None:
        super().__init__(d_model, num_heads, d_ff, **options)
        self.multihead_attn = MultiHeadAttention(d_model, num_heads)
        self.norm3 = Norm(d_model, self._given.get("layer_norm"))

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        memory: Float[Tensor, "B S d_model"],
        self_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        cross_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
        looks: list[Tensor] | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """Return the stream after the layer.

        Args:
            x: The stream.
            memory: The encoder's output.
            self_mask: True where a position of the stream may see another.
            cross_mask: True where a position of the stream may see one of the memory.
            looks: Takes the weights of the cross-attention (B, H, L, S), without gradients.
        """
        check_fed(self.linear1.weight, x=x, memory=memory)
        if looks is not None:
            check_instance(list, looks=looks)

        def self_attend(asks: Tensor) -> Tensor:
            return self.self_attn(asks, attn_mask=self_mask)

        def cross_attend(asks: Tensor, memory: Tensor) -> Tensor:
            if looks is not None:
                with torch.no_grad():
                    looks.append(self.multihead_attn.weights(asks, memory, cross_mask))
            return self.multihead_attn(asks, memory, attn_mask=cross_mask)

        norms = self.norm1, self.norm2, self.norm3
        wire = self._given.get("decoder_layer", decoder_layer)
        return wire(x, memory, self_attend, cross_attend, self._feed_forward, norms, self.pre_norm)
