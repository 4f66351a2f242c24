"""Exact attention, a tile of scores at a time: forward, and backward from out and lse alone.

Source: Dao 2023, FlashAttention-2, algorithms 1 and 2, https://arxiv.org/abs/2307.08691
Ours / theirs: block_q, block_k = B_r, B_c;  lse = L;  delta = D
Differs: the heads go through the loop together, and what is in fast memory is not modelled.
    Where query heads share a head of keys, their queries are more rows of one product.
Same contract as: torch.nn.functional.scaled_dot_product_attention with `enable_gqa=True`, whose
    causal mask is aligned to the top left: query i sees the keys 0 to i, also where L and S differ
"""
# ruff: noqa: E741 (l is the papers' letter)

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.attention.tiled.online_softmax import online_softmax_step
from course_utils.attention.tiled.tiles import check_tiled, mask_future, num_visible, tiles
from course_utils.validation import check_float, check_same_dtype, check_shape


def tiled_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    block_q: int,
    block_k: int,
    is_causal: bool = False,
) -> tuple[Float[Tensor, "B H L d_v"], Float[Tensor, "B H L"]]:
    """Return attention, and the logsumexp of each query's scaled scores.

    No more than block_q × block_k scores of a head exist at once, and tiles that are wholly in the
    future are never computed. Autograd works, and keeps every tile: see `tiled_autograd`.

    Args:
        query: What each position asks for.
        key: What each position offers. H_kv divides H: query head h reads head h // (H // H_kv).
        value: What each position hands over.
        block_q: How many queries a tile has; may exceed L.
        block_k: How many keys a tile has; may exceed S.
        is_causal: Whether query i sees only the keys 0 to i.
    """
    check_tiled(query, key, value, block_q, block_k, is_causal)
    scale = 1.0 / math.sqrt(query.shape[-1])
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    lse = query.new_empty(query.shape[:-1])
    by_group = (key.shape[1], query.shape[1] // key.shape[1])  # heads that read the same keys
    heads, outs, sums = (x.unflatten(1, by_group) for x in (query, out, lse.unsqueeze(-1)))
    for rows in tiles(query.shape[-2], block_q):
        tile = heads[..., rows, :] * scale
        q = tile.flatten(2, 3)
        m = q.new_full(q.shape[:-1], -torch.inf)
        l, acc = q.new_zeros(m.shape), q.new_zeros(*m.shape, value.shape[-1])
        for keys in tiles(num_visible(key.shape[-2], rows, is_causal), block_k):
            scores = q @ key[..., keys, :].mT
            if is_causal:
                scores = mask_future(scores, rows, keys)
            m, l, acc = online_softmax_step(m, l, acc, scores, value[..., keys, :])
        mean = acc / l.masked_fill(l == 0.0, 1.0).unsqueeze(-1)  # no key: zeros
        outs[..., rows, :] = mean.unflatten(2, tile.shape[2:4])
        sums[..., rows, :] = (m + l.log()).unsqueeze(-1).unflatten(2, tile.shape[2:4])
    return out, lse


def tiled_attention_backward(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    out: Float[Tensor, "B H L d_v"],
    lse: Float[Tensor, "B H L"],
    grad_out: Float[Tensor, "B H L d_v"],
    block_q: int,
    block_k: int,
    is_causal: bool = False,
) -> tuple[
    Float[Tensor, "B H L d_k"], Float[Tensor, "B H_kv S d_k"], Float[Tensor, "B H_kv S d_v"]
]:
    """Return the gradients of query, key and value; each tile's weights are computed again.

    It takes what `tiled_attention` took, the out and lse that it returned, and grad_out, the loss's
    slope in each entry of the output. Errors are those of `tiled_attention`.
    """
    check_tiled(query, key, value, block_q, block_k, is_causal)
    check_float(lse=lse)
    check_same_dtype(query=query, out=out, grad_out=grad_out)
    check_shape((*query.shape[:-1], value.shape[-1]), out=out, grad_out=grad_out)
    check_shape(query.shape[:-1], lse=lse)
    scale = 1.0 / math.sqrt(query.shape[-1])
    dq, dk, dv = (torch.zeros_like(x) for x in (query, key, value))
    # The mean of the weights' gradients under the weights: rowsum(P · dP) = rowsum(dO · O).
    delta = (grad_out * out).sum(dim=-1, keepdim=True)
    given = query, grad_out, lse.unsqueeze(-1), delta
    by_group = (key.shape[1], query.shape[1] // key.shape[1])
    *heads, dq_heads = (x.unflatten(1, by_group) for x in (*given, dq))
    for rows in tiles(query.shape[-2], block_q):
        q, grad, top, mean = (x[..., rows, :].flatten(2, 3) for x in heads)
        q, dq_rows = q * scale, dq_heads[..., rows, :]
        for keys in tiles(num_visible(key.shape[-2], rows, is_causal), block_k):
            k, v = key[..., keys, :], value[..., keys, :]
            scores = q @ k.mT
            if is_causal:
                scores = mask_future(scores, rows, keys)
            weights = torch.exp(scores - top)
            grad_scores = weights * (grad @ v.mT - mean)
            dq_rows.add_((grad_scores @ k * scale).unflatten(2, dq_rows.shape[2:4]))
            dk[..., keys, :].add_(grad_scores.mT @ q)  # q is scaled already
            dv[..., keys, :].add_(weights.mT @ grad)
    return dq, dk, dv
