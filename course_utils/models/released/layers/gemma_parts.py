"""Parts of Gemma 2 and 3 that differ from Llama's: norms, embedding, and norms after each part.

Source: Gemma Team 2024, Gemma 2: Improving Open Language Models at a Practical Size, section 2,
    https://arxiv.org/abs/2408.00118, and its code, modeling_gemma2.py of
    https://github.com/huggingface/transformers
Ours / theirs: attention_norm_after = post_attention_layernorm;  feed_forward_norm and
    feed_forward_norm_after = pre_feedforward_layernorm and post_feedforward_layernorm
Same contract as: Gemma2RMSNorm, Gemma2TextScaledWordEmbedding and Gemma2DecoderLayer
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.models.gpt.layer import CausalAttention, GPTLayer


class CentredNorm(nn.Module):
    """RMSNorm with the gain 1 + weight: Gemma's weights are stored as the difference from 1.

    Args:
        width: How wide its rows are.
        eps: Added to the mean square, under the root.
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(width)), eps

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return the rows, normalised."""
        return F.rms_norm(x, self.weight.shape, 1 + self.weight, self.eps)


class ScaledEmbedding(nn.Embedding):
    """An embedding whose rows are multiplied by √d_model when they are looked up."""

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T d_model"]:
        """Return a row for each token."""
        return super().forward(tokens) * math.sqrt(self.embedding_dim)


class SandwichLayer(GPTLayer):
    """A layer that normalises each part's output as well as its input.

    Args:
        attention: What reads other tokens.
        feed_forward: What processes each token separately.
        norm: Makes a norm; there are four.
    """

    def __init__(
        self, attention: CausalAttention, feed_forward: nn.Module, norm: Callable[[], nn.Module]
    ) -> None:
        super().__init__(attention, feed_forward, norm)
        self.attention_norm_after, self.feed_forward_norm_after = norm(), norm()

    def forward(
        self, x: Float[Tensor, "B T d_model"], *where: object
    ) -> Float[Tensor, "B T d_model"]:
        """Return the stream after the layer."""
        x = x + self.attention_norm_after(self.attention(self.attention_norm(x), *where))
        found = self.feed_forward(self.feed_forward_norm(x))
        return x + self.feed_forward_norm_after(found)
