"""Attention with a learned sink: one more logit per head, which takes weight but has no value.

Source: OpenAI 2025, gpt-oss-120b & gpt-oss-20b Model Card, section 2.2, a learned bias in the
    denominator of the softmax, https://arxiv.org/abs/2508.10925; with every sink at 0 it is the
    softmax of Miller 2023, https://www.evanmiller.org/attention-is-off-by-one.html
Ours / theirs: sink = sinks, a number for each query head, beside the scaled and masked scores
Differs: the tokens that attract needless weight, chapter 16's `num_sinks`, are sinks too, but
    they are keys with values.
Same contract as: plain attention · sigmoid(lse - sink), where lse is the log of what the softmax
    divides by
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.composed import composed_scores, grouped_product
from course_utils.validation import check_grouped, check_same_dtype, check_shape


def sink_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    sink: Float[Tensor, " H"],
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
) -> Float[Tensor, "B H L d_v"]:
    """Return attention whose weights sum to less than 1: the rest goes to the head's sink.

    The sink is a logit like the scores, but it is neither scaled nor masked. A query that may see
    nothing leaves everything to it, and returns zeros.

    Args:
        query: What each position asks for, in every head.
        key: What each position offers; H_kv divides H, and query head h reads h // (H / H_kv).
        value: What each position hands over.
        sink: The logit of every head's sink. A very low one is plain attention.
        attn_mask: True where a query may attend; it broadcasts to (B, H, L, S).
    """
    check_grouped(query, key, value)
    check_same_dtype(query=query, sink=sink)
    check_shape((query.shape[1],), sink=sink)
    scores = composed_scores(query, key, attn_mask=attn_mask)
    beside = sink[:, None, None].expand(*scores.shape[:-1], 1)
    weights = torch.cat((scores, beside), dim=-1).softmax(dim=-1)[..., :-1]
    return grouped_product(weights, value)
