"""Attention of the newest positions to all keys so far, as every cache asks for it."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.masks import causal_mask


def attend_last(query: Tensor, key: Tensor, value: Tensor, first: Tensor | None = None) -> Tensor:
    """Return causal attention of T queries that stand at the last T of the keys.

    Args:
        query: (B, H, T, d); H is a multiple of H_kv, and T at most S.
        key: (B, H_kv, S, d).
        value: (B, H_kv, S, d).
        first: (B,), where each sequence begins; keys before that are never attended.
    """
    new, num_keys = query.shape[2], key.shape[2]
    mask = None if first is None else _begun(first, num_keys)
    if new == 1:
        return _attend_one(query, key, value, mask)
    if new == num_keys and mask is None:
        return attend_groups(query, key, value, None, is_causal=True)
    seen = causal_mask(new, num_keys, offset=num_keys - new).to(query.device)
    return attend_groups(query, key, value, seen if mask is None else seen & mask)


def attend_groups(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool = False
) -> Tensor:
    """Return attention of H query heads to H_kv heads under one mask for all heads.

    The queries of a group take turns, so that neither keys nor masks are repeated for them.
    """
    turns = query.unflatten(1, (key.shape[1], -1)).unbind(2)
    out = [F.scaled_dot_product_attention(q, key, value, mask, is_causal=is_causal) for q in turns]
    return out[0] if len(out) == 1 else torch.stack(out, dim=2).flatten(1, 2)


def _attend_one(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return attention of a single position: the heads of a group become rows of one product."""
    if query.shape[1] == key.shape[1]:
        return F.scaled_dot_product_attention(query, key, value, mask)
    rows = query.unflatten(1, (key.shape[1], -1)).flatten(2, 3)
    return F.scaled_dot_product_attention(rows, key, value, mask).reshape(query.shape)


def _begun(first: Tensor, num_keys: int) -> Tensor:
    begun = torch.arange(num_keys, device=first.device) >= first.unsqueeze(-1)
    return begun[:, None, None, :]
