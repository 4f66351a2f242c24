"""Differential attention: the difference of two softmaxes, so what both weight equally cancels.

Source: Ye et al. 2024, Differential Transformer, Eq. 1, https://arxiv.org/abs/2410.05258
Ours / theirs: balance = λ, given; theirs is made of four learned vectors and a start per layer
Differs: no norm of the heads, and no factor 1 - λ_init after it
Same contract as: (softmax(Q₁K₁ᵀ/√d_k) - λ softmax(Q₂K₂ᵀ/√d_k)) V
"""

from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import check_float, check_number


def differential_attention(
    query: Float[Tensor, "*batch 2 L d_k"],
    key: Float[Tensor, "*batch 2 S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    balance: float | Float[Tensor, ""],
    attn_mask: Bool[Tensor, "#*batch #L #S"] | None = None,
) -> Float[Tensor, "*batch L d_v"]:
    """Return what the first of two attentions reads, minus `balance` times what the second reads.

    Args:
        query: What each position asks for, for either of the two.
        key: What each position offers, for either of the two.
        value: What each position hands over, to both.
        balance: How much of the second is subtracted, a number or a learned tensor:
            a row of weights then sums to 1 - balance.
        attn_mask: True where a query may attend, for both.
    """
    check_float("... 2 length width", query=query, key=key)
    if query.shape[-3] != 2 or key.shape[-3] != 2:
        raise ValueError(
            f"query and key must be two each, got {query.shape[-3]} and {key.shape[-3]}"
        )
    if not isinstance(balance, Tensor):
        check_number(balance=balance)
    elif balance.dim() or not balance.is_floating_point():
        raise ValueError(f"balance must be a single number, got shape {tuple(balance.shape)}")
    first, second = (
        scaled_dot_product_attention(one, other, value, attn_mask)
        for one, other in zip(query.unbind(-3), key.unbind(-3), strict=True)
    )
    return first - balance * second
