"""Gated cross-attention: a text reads images through a gate that can be closed.

Source: Alayrac et al. 2022, Flamingo: a Visual Language Model for Few-Shot Learning, section 2.2
    and appendix A.1 (tanh gating), section 2.3 (the last image only),
    https://arxiv.org/abs/2204.14198
Ours / theirs: x = y, the language; context = x, the vision;  gate = α;  marks = <image>
Differs: one head, no layer norm, and not the gated feed-forward layer that follows
Same contract as: x + tanh(gate) · (SDPA of the projected inputs @ W_o), an empty row of the mask
    giving x itself
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import (
    check_at_least,
    check_axes,
    check_boolean,
    check_float,
    check_mask,
    check_matrix,
    check_same_dtype,
    check_shape,
)


def gated_cross_attention(
    x: Float[Tensor, "B L d"],
    context: Float[Tensor, "B S d_c"],
    W_q: Float[Tensor, "d d_k"],
    W_k: Float[Tensor, "d_c d_k"],
    W_v: Float[Tensor, "d_c d_v"],
    W_o: Float[Tensor, "d_v d"],
    gate: Float[Tensor, ""],
    attn_mask: Bool[Tensor, "#B #L #S"] | None = None,
) -> Float[Tensor, "B L d"]:
    """Return x plus tanh(gate) times what it reads from the context; gate 0 gives x itself.

    Args:
        x: The stream that asks: text.
        context: The sequence that is read: images.
        W_q: Makes a query of each position of x.
        W_k: Makes a key of each position of the context.
        W_v: Makes a value of each position of the context.
        W_o: Brings what is read back to the width of x.
        gate: How far the gate is open, before the tanh.
        attn_mask: True where a position of x may read; one that may read nothing stays as it is.
    """
    check_float("B length width", x=x, context=context)
    check_shape((x.shape[0], *context.shape[1:]), context=context)
    check_matrix("W_q", W_q, rows=x.shape[-1], of="x")
    check_matrix("W_k", W_k, rows=context.shape[-1], columns=W_q.shape[1], of="context")
    check_matrix("W_v", W_v, rows=context.shape[-1], of="context")
    check_matrix("W_o", W_o, rows=W_v.shape[1], columns=x.shape[-1], of="what is read")
    check_float(gate=gate)
    check_shape((), gate=gate)
    check_same_dtype(x=x, context=context, W_q=W_q, W_k=W_k, W_v=W_v, W_o=W_o)
    if attn_mask is not None:
        check_mask(attn_mask, torch.Size((*x.shape[:2], context.shape[1])))
    query, key, value = x @ W_q, context @ W_k, context @ W_v
    read = scaled_dot_product_attention(query, key, value, attn_mask)
    return x + gate.tanh() * (read @ W_o)


def last_image_mask(
    marks: Bool[Tensor, "B L"], num_images: int, tokens_per_image: int
) -> Bool[Tensor, "B L num_images*tokens_per_image"]:
    """Return which image tokens each position of a text may read: those of the last image so far.

    Args:
        marks: True at each image's place in the text.
        num_images: How many images each sequence has room for, at least as many as it has marks.
        tokens_per_image: How many keys an image has; image m (from 0) has the m-th block of them.

    Raises:
        ValueError: A sequence has more marks than there are images.
    """
    check_boolean("an image stands here", marks=marks)
    check_axes("B L", marks=marks)
    check_at_least(1, num_images=num_images, tokens_per_image=tokens_per_image)
    seen = marks.cumsum(-1)
    if bool((seen > num_images).any()):
        raise ValueError(f"a sequence may have at most {num_images} marks, got {int(seen.max())}")
    image = torch.arange(num_images, device=marks.device).repeat_interleave(tokens_per_image)
    return seen.unsqueeze(-1) - 1 == image
