"""A small Transformer that takes any position scheme, or none.

Source: Vaswani et al. 2017, section 3, https://arxiv.org/abs/1706.03762, with the norm before each
    part as in Xiong et al. 2020, https://arxiv.org/abs/2002.04745
Differs: positions are one exchangeable object, shared by all layers, as T5's bias is;
    scores and weights are computed explicitly, since a scheme may add to both
Same contract as: SmallTransformer, where the scheme is LearnedPositions
"""

import math
from typing import cast

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from course_utils.attention import MultiHeadAttention, merge_heads, stable_softmax
from course_utils.models.tokens import embedded
from course_utils.positions import PositionScheme
from course_utils.validation import (
    check_at_least,
    check_instance,
    check_mask,
    check_num_heads,
    check_positions,
)


class PositionedAttention(MultiHeadAttention):
    """Multi-head self-attention that calls a scheme at three places: rotate, bias, value_term."""

    def heads(
        self,
        x: Float[Tensor, "B L d_model"],
        positions: Shaped[Tensor, "*B L"],
        scheme: PositionScheme,
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
    ) -> tuple[Float[Tensor, "B H L L"], Float[Tensor, "B H L d_k"]]:
        """Return the weights and each head's output."""
        query, key, value = self.project(x, x, x)
        query, key = scheme.rotate(query, key, positions, positions)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        bias = scheme.bias(query, key, positions, positions)
        if bias is not None:
            scores = scores + bias
        if attn_mask is not None:
            check_mask(attn_mask, scores.shape)
            scores = scores.masked_fill(~attn_mask, -torch.inf)
        weights = stable_softmax(scores)
        found = weights @ value
        extra = scheme.value_term(weights, positions, positions)
        return weights, found if extra is None else found + extra


class PositionedBlock(nn.Module):
    """Attention, then a feed-forward layer; each is normed before it and added to the stream.

    Args:
        d_model: Width of the stream.
        num_heads: Heads of the attention.
        d_ff: Width of the hidden layer.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = PositionedAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(d_model), nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)
        )

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        positions: Shaped[Tensor, "*B L"],
        scheme: PositionScheme,
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
    ) -> tuple[Float[Tensor, "B L d_model"], Float[Tensor, "B H L L"]]:
        """Return the stream after the block, and the weights used in it."""
        weights, found = self.attention.heads(self.attention_norm(x), positions, scheme, attn_mask)
        x = x + self.attention.out_proj(merge_heads(found))
        return x + self.feed_forward(x), weights


class PositionedTransformer(nn.Module):
    """Tokens in, a score for each token of the vocabulary out, at every position.

    `positions` may be exchanged after training: RoPE with other frequencies has no parameters.

    Args:
        num_tokens: Size of the vocabulary.
        d_model: Width of the stream.
        num_heads: Heads of each layer.
        num_layers: Number of blocks.
        positions: How it knows where its tokens are; None for not at all.
        d_ff: Width of the feed-forward layers; None is 4·d_model.
    """

    def __init__(
        self,
        num_tokens: int,
        *,
        d_model: int,
        num_heads: int,
        num_layers: int,
        positions: PositionScheme | None = None,
        d_ff: int | None = None,
    ) -> None:
        super().__init__()
        check_num_heads(num_heads, d_model)
        check_at_least(1, num_tokens=num_tokens, num_layers=num_layers)
        self.token = nn.Embedding(num_tokens, d_model)
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_at_least(1, d_ff=d_ff)
        self.blocks = nn.ModuleList(
            PositionedBlock(d_model, num_heads, d_ff) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, num_tokens)
        self.positions = PositionScheme() if positions is None else positions
        check_instance(PositionScheme, positions=self.positions)

    def forward(
        self,
        tokens: Int[Tensor, "B L"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        positions: Shaped[Tensor, "*B L"] | None = None,
    ) -> Float[Tensor, "B L num_tokens"]:
        """Return a score for each token of the vocabulary.

        Args:
            tokens: The sequences.
            attn_mask: True where a position may attend, in every layer; None hides nothing.
            positions: The tokens' positions; None counts from 0.
        """
        return self.read(tokens, attn_mask, positions)[0]

    def read(
        self,
        tokens: Int[Tensor, "B L"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        positions: Shaped[Tensor, "*B L"] | None = None,
    ) -> tuple[Float[Tensor, "B L num_tokens"], list[Float[Tensor, "B H L L"]]]:
        """Return the scores, and each layer's weights as part of the scores' graph.

        So the scores' gradient with respect to the weights can be computed. The arguments are
        those of `forward`.
        """
        x = embedded(self.token, tokens)
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        check_positions(x, positions=positions)
        x = self.positions.embed(x, positions)
        found = []
        for block in self.blocks:
            x, weights = cast(PositionedBlock, block)(x, positions, self.positions, attn_mask)
            found.append(weights)
        return self.out(self.norm(x)), found

    @torch.no_grad()
    def weights(
        self,
        tokens: Int[Tensor, "B L"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        positions: Shaped[Tensor, "*B L"] | None = None,
    ) -> list[Float[Tensor, "B H L L"]]:
        """Return each layer's weights, without gradients; the arguments are those of `forward`."""
        return self.read(tokens, attn_mask, positions)[1]
