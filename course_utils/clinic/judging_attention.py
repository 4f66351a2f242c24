"""A test that accepts any right scaled dot-product attention.

Source: chapter 03's contract: softmax(query·keyᵀ/√d_k + mask)·value
Ours / theirs: attention = any function of (query, key, value, attn_mask=None)
Differs: an empty row gives zeros, as PyTorch's operator gives, where the formula gives NaN.
Same contract as: `scaled_dot_product_attention` without `scale`
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.clinic.agreement import agrees, attempt

_L, _S, _D_K, _D_V = 5, 7, 4, 6  # pairwise different: no size can be mistaken for another
_LEADING = ((), (2,), (2, 3))


def accepts_attention(attention: Callable[..., Tensor]) -> bool:
    """Return whether an implementation does what attention should, on inputs that tell.

    Args:
        attention: Takes query, key, value and perhaps a boolean mask, True = may attend.
    """
    generator = torch.Generator().manual_seed(0)
    for leading in _LEADING:
        sizes = ((_L, _D_K), (_S, _D_K), (_S, _D_V))
        query, key, value = (
            torch.randn(*leading, *size, generator=generator, dtype=torch.float64) for size in sizes
        )
        some = torch.rand(_L, _S, generator=generator) < 0.5
        some[1] = False  # a query that may see nothing
        for mask in (None, some):
            want = scaled_dot_product_attention(query, key, value, mask)
            given = (query, key, value) if mask is None else (query, key, value, mask)
            if not agrees(attempt(attention, *given), want):
                return False
    return True
