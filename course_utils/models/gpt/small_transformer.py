"""A small Transformer: blocks of multi-head attention and a feed-forward layer over tokens.

Source: Vaswani et al. 2017, section 3, https://arxiv.org/abs/1706.03762, with the norm before each
    part as in Xiong et al. 2020, https://arxiv.org/abs/2002.04745, and learned positions
Differs: the mask is an argument, so one model serves as encoder, decoder or a faulty one; single
    heads can be left out
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_utils.attention import MultiHeadAttention
from course_utils.models.replaceable import GivenAttention
from course_utils.models.tokens import embedded
from course_utils.validation import (
    check_at_least,
    check_boolean,
    check_fed,
    check_num_heads,
    check_shape,
)


class Block(nn.Module):
    """Attention, then a feed-forward layer; each is normed before it and added to the stream.

    Args:
        d_model: Width of the stream.
        num_heads: Heads of the attention.
        d_ff: Width of the hidden layer; 0 leaves the feed-forward layer out.
        **functions: What `GivenAttention` takes in place of its own: split, attend, merge.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, **functions: Callable[..., Any]
    ) -> None:
        super().__init__()
        check_num_heads(num_heads, d_model)
        check_at_least(1, d_model=d_model)
        check_at_least(0, d_ff=d_ff)
        self.attention_norm = nn.LayerNorm(d_model)
        made = GivenAttention if functions else MultiHeadAttention
        self.attention = made(d_model, num_heads, **cast(Any, functions))
        self.feed_forward = None
        if d_ff > 0:
            self.feed_forward = nn.Sequential(
                nn.LayerNorm(d_model), nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)
            )

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        keep: Bool[Tensor, " H"] | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """Return the stream after the block."""
        check_fed(self.attention.out_proj.weight, x=x)
        x = x + self.attention(self.attention_norm(x), attn_mask=attn_mask, keep=keep)
        return x if self.feed_forward is None else x + self.feed_forward(x)

    def weights(
        self, x: Float[Tensor, "B L d_model"], attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None
    ) -> Float[Tensor, "B H L L"]:
        """Return the weights with which each head reads the stream."""
        check_fed(self.attention.out_proj.weight, x=x)
        return self.attention.weights(self.attention_norm(x), attn_mask=attn_mask)


class SmallTransformer(nn.Module):
    """Tokens in, a score for each token of the vocabulary out, at every position.

    Args:
        num_tokens: Size of the vocabulary.
        d_model: Width of the stream.
        num_heads: Heads of each layer.
        num_layers: Number of blocks.
        max_length: The longest sequence; there is one learned vector for each position.
        d_ff: Width of the feed-forward layers; None is 4·d_model, 0 leaves them out.
        **functions: What `GivenAttention` takes in place of its own: split, attend, merge.
    """

    def __init__(
        self,
        num_tokens: int,
        *,
        d_model: int,
        num_heads: int,
        num_layers: int,
        max_length: int,
        d_ff: int | None = None,
        **functions: Callable[..., Any],
    ) -> None:
        super().__init__()
        check_at_least(1, num_tokens=num_tokens, d_model=d_model)
        check_at_least(1, num_layers=num_layers, max_length=max_length)
        self.token = nn.Embedding(num_tokens, d_model)
        self.position = nn.Embedding(max_length, d_model)
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.blocks = nn.ModuleList(
            Block(d_model, num_heads, d_ff, **functions) for _ in range(num_layers)
        )
        self.num_heads = num_heads
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, num_tokens)

    def forward(
        self,
        tokens: Int[Tensor, "B L"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        keep: Bool[Tensor, "num_layers H"] | None = None,
    ) -> Float[Tensor, "B L num_tokens"]:
        """Return a score for each token of the vocabulary.

        Args:
            tokens: The sequences.
            attn_mask: True where a position may attend, in every layer; None hides nothing.
            keep: True for each head of each layer that may speak; None keeps all.

        Raises:
            ValueError: The sequences are longer than `max_length`.
        """
        x = self._embed(tokens)
        if keep is not None:
            check_boolean("kept", keep=keep)
            check_shape((len(self.blocks), self.num_heads), keep=keep)
        for index, block in enumerate(self.blocks):
            x = block(x, attn_mask, None if keep is None else keep[index])
        return self.out(self.norm(x))

    @torch.no_grad()
    def weights(
        self, tokens: Int[Tensor, "B L"], attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None
    ) -> list[Float[Tensor, "B H L L"]]:
        """Return each layer's weights, without gradients.

        Args:
            tokens: The sequences.
            attn_mask: True where a position may attend.

        Raises:
            ValueError: The sequences are longer than `max_length`.
        """
        x = self._embed(tokens)
        found = []
        for block in self.blocks:
            found.append(cast(Block, block).weights(x, attn_mask))
            x = block(x, attn_mask)
        return found

    def _embed(self, tokens: Tensor) -> Tensor:
        x, longest = embedded(self.token, tokens), self.position.num_embeddings
        if x.shape[1] > longest:
            raise ValueError(f"sequences must have at most {longest} tokens, got {x.shape[1]}")
        return x + self.position.weight[: x.shape[1]]
