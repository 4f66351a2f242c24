"""Softmax over what a mask allows, and the mask as numbers to add.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.3: illegal connections are set
    to -inf in the input of the softmax, https://arxiv.org/abs/1706.03762
Ours / theirs: True = may attend;  weights = softmax(scores + M), M = 0 or -inf
Differs: a row that may attend to nothing gives zeros with zero gradient, not NaN.
Same contract as: the weights inside torch's SDPA with a boolean mask
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.validation import check_boolean, check_float, check_mask


def masked_softmax(
    scores: Float[Tensor, "*batch L S"], attn_mask: Bool[Tensor, "#*batch #L #S"]
) -> Float[Tensor, "*batch L S"]:
    """Turn each row of scores into weights over the keys that the mask allows.

    The value at a masked place never matters, even if it is the largest, inf or NaN.

    Args:
        scores: How well each key answers each query.
        attn_mask: True where the query may attend to the key.
    """
    check_float(scores=scores)
    if scores.dim() < 2:
        raise ValueError(f"scores need at least two axes (L, S), got {tuple(scores.shape)}")
    check_mask(attn_mask, scores.shape)
    hidden = scores.masked_fill(~attn_mask, -torch.inf)
    # The softmax of nothing but -inf is NaN, and so is its slope: no such row may reach it.
    empty = (hidden == -torch.inf).all(dim=-1, keepdim=True)
    return torch.softmax(hidden.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)


def additive_mask(mask: Bool[Tensor, "*axes"], dtype: torch.dtype) -> Float[Tensor, "*axes"]:
    """Return the equivalent numbers to add to scores: 0 to allow, -inf to forbid.

    Args:
        mask: True = may attend.
        dtype: The scores' dtype.
    """
    check_boolean(mask=mask)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating one, got {dtype}")
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)
