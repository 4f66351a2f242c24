"""Linformer: attend to r linear combinations of the keys instead of all S of them.

Source: Wang et al. 2020, Linformer: Self-Attention with Linear Complexity, Eq. 7,
    https://arxiv.org/abs/2006.04768
Ours / theirs: E, F (S, r) = E_iᵀ, F_iᵀ of k rows;  r = k
Differs: E and F are applied over the positions, as Eᵀ·key: a published text multiplies from the
    other side, where the shapes do not fit. They belong to one length S, and each combination
    holds later keys too: not for causal attention.
Same contract as: softmax(q (Eᵀ K)ᵀ / √d_k) (Fᵀ V)
"""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from course_utils.validation import check_matrix, check_query_key_value, check_same_dtype


def linformer_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    E: Float[Tensor, "S r"],
    F: Float[Tensor, "S r"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return attention to r linear combinations of the keys and values.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        E: How much of each key goes into each combination.
        F: How much of each value goes into each combination.
    """
    check_query_key_value(query, key, value)
    check_matrix("E", E, rows=key.shape[-2], of="the keys' positions")
    check_matrix("F", F, rows=key.shape[-2], columns=E.shape[1], of="the values' positions")
    check_same_dtype(key=key, E=E, F=F)
    return functional.scaled_dot_product_attention(query, E.mT @ key, F.mT @ value)
