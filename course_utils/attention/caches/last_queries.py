"""Attention of the newest positions to all keys so far, as every cache needs it."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.masks.causal import causal_mask


def attend_last(query: Tensor, key: Tensor, value: Tensor, first: Tensor | None = None) -> Tensor:
    """Return causal attention of T queries (B, H, T, d) at the last T of keys (B, H_kv, S, d).

    No query attends to a key before `first` (B,), where its sequence begins.
    """
    new, num_keys = query.shape[2], key.shape[2]
    mask = None
    if first is not None:
        begun = torch.arange(num_keys, device=first.device) >= first.unsqueeze(-1)
        mask = begun[:, None, None, :]
    if new == 1:
        return _attend_one(query, key, value, mask)
    if new == num_keys and mask is None:
        return attend_groups(query, key, value, None, is_causal=True)
    seen = causal_mask(new, num_keys, offset=num_keys - new).to(query.device)
    return attend_groups(query, key, value, seen if mask is None else seen & mask)


def attend_groups(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool = False
) -> Tensor:
    """Return the attention of H query heads over H_kv heads, with one mask for all heads.

    The queries of a group are processed in turn, so neither keys nor masks are repeated.
    """
    turns = query.unflatten(1, (key.shape[1], -1)).unbind(2)
    out = [F.scaled_dot_product_attention(q, key, value, mask, is_causal=is_causal) for q in turns]
    return out[0] if len(out) == 1 else torch.stack(out, dim=2).flatten(1, 2)


def _attend_one(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return attention of a single position: the heads of a group become rows of one matmul."""
    if query.shape[1] == key.shape[1]:
        return F.scaled_dot_product_attention(query, key, value, mask)
    group = query.shape[1] // key.shape[1]
    rows = query.reshape(len(query), key.shape[1], group, query.shape[-1])
    return F.scaled_dot_product_attention(rows, key, value, mask).reshape(query.shape)
