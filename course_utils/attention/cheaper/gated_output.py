"""Gated attention: a gate for each number that attention returns, computed from the query's token.

Source: Qiu et al. 2025, Gated Attention for Large Language Models: Non-linearity, Sparsity, and
    Attention-Sink-Free, Eq. 5 at position G1, https://arxiv.org/abs/2505.06708
Ours / theirs: gate = X W_θ, before the sigmoid
Same contract as: softmax attention, multiplied number by number with sigmoid(gate)
"""

from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import check_same_dtype, check_shape


def gated_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    gate: Float[Tensor, "*batch L d_v"],
    attn_mask: Bool[Tensor, "#*batch #L #S"] | None = None,
) -> Float[Tensor, "*batch L d_v"]:
    """Return attention's output times the sigmoid of the gate: a head can output nothing at all.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        gate: How much of each number passes, before the sigmoid.
        attn_mask: True where a query may attend.
    """
    out = scaled_dot_product_attention(query, key, value, attn_mask)
    check_same_dtype(value=value, gate=gate)
    check_shape(tuple(out.shape), gate=gate)
    return out * gate.sigmoid()
