"""Cross-attention: queries from x, keys and values from the context.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.3 (encoder-decoder attention),
    https://arxiv.org/abs/1706.03762
Ours / theirs: x = the decoder's states;  context = the encoder's output, called memory in torch
Differs: one head, no output projection, no bias; the two sequences may have different widths.
Same contract as: torch.nn.MultiheadAttention with one head, kdim = vdim = d_c, bias=False and
    out_proj = 1, where all widths are d_model
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.validation import check_float, check_leading, check_matrix, check_same_dtype


def cross_attention(
    x: Float[Tensor, "*batch L d"],
    context: Float[Tensor, "*batch S d_c"],
    W_q: Float[Tensor, "d d_k"],
    W_k: Float[Tensor, "d_c d_k"],
    W_v: Float[Tensor, "d_c d_v"],
) -> Float[Tensor, "*batch L d_v"]:
    """Return what each position of x reads from the context; with context = x, self-attention.

    Args:
        x: The sequence that asks.
        context: The sequence that is read; its length and width may differ.
        W_q: Makes a query of each position of x.
        W_k: Makes a key of each position of the context, as wide as a query.
        W_v: Makes a value of each position of the context, of any width.
    """
    check_float("... length width", x=x, context=context)
    check_leading(x=x, context=context)
    check_matrix("W_q", W_q, rows=x.shape[-1], of="x")
    check_matrix("W_k", W_k, rows=context.shape[-1], columns=W_q.shape[1], of="context")
    check_matrix("W_v", W_v, rows=context.shape[-1], of="context")
    check_same_dtype(x=x, context=context, W_q=W_q, W_k=W_k, W_v=W_v)
    return scaled_dot_product_attention(x @ W_q, context @ W_k, context @ W_v)
