"""Scaled dot-product attention, forward and backward.

Source: Vaswani et al. 2017, Attention Is All You Need, Eq. 1, https://arxiv.org/abs/1706.03762;
    the backward pass is Dao et al. 2022, FlashAttention, appendix B.2, https://arxiv.org/abs/2205.14135
Ours / theirs: query, key, value = Q, K, V;  L = S = n;  weights = softmax(QKᵀ/√d_k) = P
Differs: takes a mask; a query that may see no key returns zeros.
Same contract as: torch.nn.functional.scaled_dot_product_attention with a boolean mask
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import (
    check_mask,
    check_number,
    check_query_key,
    check_query_key_value,
    check_same_dtype,
    check_shape,
)


def attention_weights(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    scale: float | None = None,
) -> Float[Tensor, "*batch L S"]:
    """Return how much each query takes from each key; every row sums to 1.

    Args:
        query: What each position asks for.
        key: What each position offers.
        scale: Factor on the scores; None is 1/√d_k, and 0.0 is a factor like any other.
    """
    check_query_key(query, key)
    return stable_softmax(_scores(query, key, scale))


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    attn_mask: Bool[Tensor, "#*batch #L #S"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*batch L d_v"]:
    """Return, for each query, the average of the values, weighted by how well their keys match it.

    Args:
        query: What each position asks for.
        key: What each position offers.
        value: What each position hands over.
        attn_mask: True where the query may attend to the key.
        scale: Factor on the scores; None is 1/√d_k.
    """
    check_query_key_value(query, key, value)
    scores = _scores(query, key, scale)
    if attn_mask is not None:
        check_mask(attn_mask, scores.shape)
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    return stable_softmax(scores) @ value


def attention_backward(
    query: Float[Tensor, "*batch L d_k"],
    key: Float[Tensor, "*batch S d_k"],
    value: Float[Tensor, "*batch S d_v"],
    grad_out: Float[Tensor, "*batch L d_v"],
) -> tuple[
    Float[Tensor, "*batch L d_k"], Float[Tensor, "*batch S d_k"], Float[Tensor, "*batch S d_v"]
]:
    """Return the gradients of query, key and value, given the gradient of the output.

    No mask, scale 1/√d_k, no autograd; leading axes are the same for all four. Apart from
    grad_out, the loss's slope in each entry of the output, they are what the forward pass took.
    """
    check_query_key_value(query, key, value)
    check_same_dtype(query=query, grad_out=grad_out)
    check_shape((*query.shape[:-1], value.shape[-1]), grad_out=grad_out)
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(
            "query, key and value need the same leading axes here, "
            f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    scale = 1.0 / math.sqrt(query.shape[-1])
    weights = stable_softmax(_scores(query, key, scale))
    grad_weights = grad_out @ value.mT
    # The softmax's Jacobian, applied without ever being built: w * (g - <w, g>).
    average = (weights * grad_weights).sum(dim=-1, keepdim=True)
    grad_scores = weights * (grad_weights - average) * scale
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_out


def _scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1])
    check_number(scale=scale)
    # Scaling the query is the cheap side: L x d_k numbers instead of L x S.
    return (query * scale) @ key.mT
