"""Splitting a stream into heads, merging it again, and leaving heads out.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.2, https://arxiv.org/abs/1706.03762;
    heads left out: Michel et al. 2019, Are Sixteen Heads Really Better than One?, Eq. 2,
    https://arxiv.org/abs/1905.10650
Ours / theirs: num_heads = h = N_h, d_k = d_k = d_h, keep = ξ
"""

from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.validation import (
    check_boolean,
    check_float,
    check_num_heads,
    check_same_dtype,
    check_shape,
)


def split_heads(x: Float[Tensor, "B L d_model"], num_heads: int) -> Float[Tensor, "B H L d_k"]:
    """Return each head's own slice of the stream; head h owns channels h·d_k to (h + 1)·d_k - 1.

    Args:
        x: The stream, all heads side by side in its last axis.
        num_heads: How many heads share it.
    """
    check_float(x=x)
    if x.dim() != 3:
        raise ValueError(f"x must have the axes (B, L, d_model), got shape {tuple(x.shape)}")
    check_num_heads(num_heads, x.shape[-1])
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


def merge_heads(heads: Float[Tensor, "B H L d_k"]) -> Float[Tensor, "B L d_model"]:
    """Return the heads side by side again: what `split_heads` undoes.

    Args:
        heads: Each head's output.
    """
    check_float(heads=heads)
    if heads.dim() != 4:
        raise ValueError(f"heads must have the axes (B, H, L, d_k), got shape {tuple(heads.shape)}")
    return heads.transpose(1, 2).flatten(-2)


def ablate_heads(
    head_outputs: Float[Tensor, "B H L d_k"],
    W_o: Float[Tensor, "H*d_k d_model"],
    keep: Bool[Tensor, " H"],
) -> Float[Tensor, "B L d_model"]:
    """Return the output of multi-head attention with only the kept heads.

    Args:
        head_outputs: What each head computed.
        W_o: The output projection, applied as merged @ W_o.
        keep: True for each head that is kept; the others are set to zero.
    """
    check_same_dtype(head_outputs=head_outputs, W_o=W_o)
    merged = merge_heads(head_outputs)
    check_boolean("kept", keep=keep)
    check_shape((head_outputs.shape[1],), keep=keep)
    if W_o.dim() != 2 or W_o.shape[0] != merged.shape[-1]:
        raise ValueError(
            f"W_o must have {merged.shape[-1]} rows, one for each channel of the merged heads, "
            f"got shape {tuple(W_o.shape)}"
        )
    # Filled, not multiplied: a head that is left out may hold NaN or inf.
    return merge_heads(head_outputs.masked_fill(~keep[:, None, None], 0.0)) @ W_o
