"""Attention to the text nearby, mixed with the few memories from far away that score highest.

Source: Wu et al. 2022, Memorizing Transformers, section 3.2, https://arxiv.org/abs/2203.08913
Ours / theirs: far = V_m, near = V_c, g = the gate of equation 2; top_k = k nearest neighbours
Differs: the search is exact; theirs is approximate, and no gradient flows into the memory
"""

import math

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.attention.masks.causal import causal_mask
from course_utils.plain_validation import check_at_least
from course_utils.validation import (
    check_query_key_value,
    check_same_dtype,
    check_same_length,
    check_shape,
)


def memory_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H L d_k"],
    value: Float[Tensor, "B H L d_v"],
    memory_key: Float[Tensor, "B H M d_k"],
    memory_value: Float[Tensor, "B H M d_v"],
    top_k: int,
    gate: Float[Tensor, " H"],
) -> Float[Tensor, "B H L d_v"]:
    """Return g · far + (1 - g) · near, g = sigmoid(gate) for each head.

    Args:
        query: What each token asks for, here and in the memory.
        key: The keys of the text nearby; near is causal attention over them.
        value: Their values.
        memory_key: The keys of the memory.
        memory_value: Their values.
        top_k: How many memories a query and head reads: those that score highest for it. All, if
            there are fewer.
        gate: One number for each head.
    """
    check_same_length(query, key, value)
    check_query_key_value(query, memory_key, memory_value)
    check_same_dtype(query=query, memory_key=memory_key, memory_value=memory_value, gate=gate)
    check_shape(query.shape[1:2], gate=gate)
    check_shape((*value.shape[:-2], *memory_value.shape[-2:-1], value.shape[-1]),
                memory_value=memory_value)  # fmt: skip
    check_at_least(1, top_k=top_k, **{"the number of memories": memory_key.shape[-2]})
    length = query.shape[-2]
    seen = causal_mask(length, length, offset=0).to(query.device)
    near = scaled_dot_product_attention(query, key, value, seen)
    scores = query @ memory_key.mT / math.sqrt(query.shape[-1])
    best, chosen = scores.topk(min(top_k, memory_key.shape[-2]), dim=-1)
    weights = scores.new_zeros(scores.shape).scatter(-1, chosen, best.softmax(dim=-1))
    far = weights @ memory_value
    g = gate.sigmoid().view(-1, 1, 1)
    return g * far + (1 - g) * near
