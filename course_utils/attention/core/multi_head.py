"""Multi-head attention, written three ways that agree.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.2, https://arxiv.org/abs/1706.03762
Ours / theirs: num_heads = h;  W_q[:, h·d_k:(h + 1)·d_k] = W_h^Q, and so for W_k and W_v;  W_o = W^O
Differs: takes a mask; a query that may see no key gets zeros from every head, before W_o.
Same contract as: torch.nn.functional.multi_head_attention_forward without biases
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.core.scaled_dot_product import scaled_dot_product_attention
from course_utils.attention.core.split_heads import merge_heads, split_heads
from course_utils.validation import (
    check_float,
    check_mask,
    check_matrix,
    check_num_heads,
    check_same_dtype,
)


def multi_head_attention(
    query: Float[Tensor, "B L d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    W_q: Float[Tensor, "d_model d_model"],
    W_k: Float[Tensor, "d_model d_model"],
    W_v: Float[Tensor, "d_model d_model"],
    W_o: Float[Tensor, "d_model d_model"],
    num_heads: int,
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
) -> Float[Tensor, "B L d_model"]:
    """Return the outputs of all heads, concatenated and mixed by the output projection.

    All heads are computed at once: to the matrix product, a head is one more leading axis.

    Args:
        query: The stream that queries are made of.
        key: The stream that keys are made of.
        value: The stream that values are made of, as long as `key`.
        W_q: Makes the queries of all heads, applied as query @ W_q.
        W_k: Makes the keys of all heads.
        W_v: Makes the values of all heads.
        W_o: Mixes the heads' outputs.
        num_heads: How many heads share the width.
        attn_mask: True where a query may attend; (L, S), (H, L, S), (B, 1, L, S) or (B, H, L, S).
    """
    _check(query, key, value, W_q, W_k, W_v, W_o, num_heads)
    heads = scaled_dot_product_attention(
        split_heads(query @ W_q, num_heads),
        split_heads(key @ W_k, num_heads),
        split_heads(value @ W_v, num_heads),
        attn_mask,
    )
    return merge_heads(heads) @ W_o


def multi_head_attention_loop(
    query: Float[Tensor, "B L d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    W_q: Float[Tensor, "d_model d_model"],
    W_k: Float[Tensor, "d_model d_model"],
    W_v: Float[Tensor, "d_model d_model"],
    W_o: Float[Tensor, "d_model d_model"],
    num_heads: int,
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
) -> Float[Tensor, "B L d_model"]:
    """Return the same as `multi_head_attention`, one head after another, as the paper writes it.

    Args, errors and result are those of `multi_head_attention`.
    """
    _check(query, key, value, W_q, W_k, W_v, W_o, num_heads)
    if attn_mask is not None:
        shape = torch.Size((query.shape[0], num_heads, query.shape[1], key.shape[1]))
        check_mask(attn_mask, shape)
        attn_mask = attn_mask.expand(shape)
    out = []
    w_q, w_k, w_v = (weight.chunk(num_heads, dim=1) for weight in (W_q, W_k, W_v))
    for h in range(num_heads):
        mask = None if attn_mask is None else attn_mask[:, h]
        out.append(scaled_dot_product_attention(query @ w_q[h], key @ w_k[h], value @ w_v[h], mask))
    return torch.cat(out, dim=-1) @ W_o


def multi_head_attention_fused(
    x: Float[Tensor, "B L d_model"],
    W_qkv: Float[Tensor, "d_model 3*d_model"],
    W_o: Float[Tensor, "d_model d_model"],
    num_heads: int,
    attn_mask: Bool[Tensor, "#B #H L L"] | None = None,
) -> Float[Tensor, "B L d_model"]:
    """Return self-attention with one product for all projections, and no matrix of weights.

    Queries, keys and values are all made of x; W_qkv is W_q, W_k and W_v side by side. The other
    arguments and the errors are as in `multi_head_attention`.
    """
    check_float("B length width", x=x)
    batch, length, d_model = x.shape
    check_num_heads(num_heads, d_model)
    check_matrix("W_qkv", W_qkv, rows=d_model, columns=3 * d_model, of="x")
    check_matrix("W_o", W_o, rows=d_model, of="what the heads found")
    check_same_dtype(x=x, W_qkv=W_qkv, W_o=W_o)
    if attn_mask is not None:
        check_mask(attn_mask, torch.Size((batch, num_heads, length, length)))
    query, key, value = (split_heads(part, num_heads) for part in (x @ W_qkv).chunk(3, dim=-1))
    return merge_heads(F.scaled_dot_product_attention(query, key, value, attn_mask)) @ W_o


def _check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
) -> None:
    check_float("B length width", query=query, key=key, value=value)
    check_matrix("W_q", W_q, rows=query.shape[-1], of="query")
    check_matrix("W_k", W_k, rows=key.shape[-1], columns=W_q.shape[1], of="key")
    check_matrix("W_v", W_v, rows=value.shape[-1], of="value")
    check_num_heads(num_heads, W_q.shape[1])
    check_num_heads(num_heads, W_v.shape[1])
    check_matrix("W_o", W_o, rows=W_v.shape[1], of="what the heads found")
    check_same_dtype(query=query, key=key, value=value, W_q=W_q, W_k=W_k, W_v=W_v, W_o=W_o)
