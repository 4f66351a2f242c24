"""The attention in the layers of Gemma 2 and of gpt-oss: capped scores, a sink in each head.

Source: Gemma 2: https://arxiv.org/abs/2408.00118, section 2;  gpt-oss:
    https://arxiv.org/abs/2508.10925, section 2.2
Ours / theirs: cap = attn_logit_softcapping;  sinks = sinks
Differs: each is a function of queries, keys, values and a mask, so that any cache serves it
Same contract as: eager_attention_forward of Gemma 2 and of gpt-oss at transformers
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_utils.attention.cheaper.sink import sink_attention
from course_utils.attention.core.composed import composed_attention
from course_utils.attention.core.soft_cap import soft_cap


def capped_attention(num_heads: int, *, cap: float) -> Callable[..., Tensor]:
    """Return attention whose scores are capped, as in Gemma 2; it is the same for all heads.

    Args:
        num_heads: Unused; every maker of attention takes it.
        cap: What no score exceeds.
    """

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        return composed_attention(query, key, value, lambda s: soft_cap(s, cap), mask)

    return attend


class SinkAttention(nn.Module):
    """Attention in which each head has a learned sink, as in gpt-oss.

    Args:
        num_heads: How many heads there are.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.sinks = nn.Parameter(torch.zeros(num_heads))

    def forward(
        self,
        query: Float[Tensor, "B H T d_k"],
        key: Float[Tensor, "B H_kv S d_k"],
        value: Float[Tensor, "B H_kv S d_k"],
        mask: Shaped[Tensor, "*axes T S"],
    ) -> Float[Tensor, "B H T d_k"]:
        """Return the averages of the values, minus what the sinks take."""
        return sink_attention(query, key, value, self.sinks, mask)
