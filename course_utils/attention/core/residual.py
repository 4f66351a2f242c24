"""The backward pass of one attention layer with its residual connection.

Source: the chain rule; for softmax attention Dao et al. 2022, FlashAttention, appendix B.2,
    https://arxiv.org/abs/2205.14135; the residual connection He et al. 2016, Identity Mappings in
    Deep Residual Networks, Eq. 5, https://arxiv.org/abs/1603.05027
Ours / theirs: grad_out = dL/dy, grad_x = dL/dx
Same contract as: torch.autograd.grad of x + softmax(x W_q (x W_k)ᵀ/√d_k) x W_v
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.scaled_dot_product import attention_backward
from course_utils.validation import check_axes, check_same_dtype, check_shape


def residual_attention_backward(
    x: Float[Tensor, "B L d"],
    W_q: Float[Tensor, "d d_k"],
    W_k: Float[Tensor, "d d_k"],
    W_v: Float[Tensor, "d d"],
    grad_out: Float[Tensor, "B L d"],
) -> Float[Tensor, "B L d"]:
    """Return the gradient with respect to x of y = x + attention(x W_q, x W_k, x W_v).

    Four paths lead from x to y, and their gradients are added: past the layer, and through the
    queries, the keys and the values. No mask, scale 1/√d_k.

    Args:
        x: What went into the layer.
        W_q: Projects to queries.
        W_k: Projects to keys.
        W_v: Projects to values.
        grad_out: The loss's slope in each entry of y.
    """
    check_same_dtype(x=x, W_q=W_q, W_k=W_k, W_v=W_v, grad_out=grad_out)
    check_axes("B L d", x=x)
    check_axes("d d_k", W_q=W_q)
    width = x.shape[-1]
    check_shape((width, W_q.shape[-1]), W_q=W_q, W_k=W_k)
    check_shape((width, width), W_v=W_v)
    check_shape(x.shape, grad_out=grad_out)
    grad_query, grad_key, grad_value = attention_backward(x @ W_q, x @ W_k, x @ W_v, grad_out)
    return grad_out + grad_query @ W_q.mT + grad_key @ W_k.mT + grad_value @ W_v.mT
