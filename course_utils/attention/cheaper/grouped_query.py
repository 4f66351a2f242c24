"""Grouped-query attention: several query heads share one head of keys and values.

Source: Ainslie et al. 2023, GQA: Training Generalized Multi-Query Transformer Models from
    Multi-Head Checkpoints, section 2.2, https://arxiv.org/abs/2305.13245; one shared head is
    multi-query attention, Shazeer 2019, Fast Transformer Decoding, https://arxiv.org/abs/1911.02150
Ours / theirs: num_kv_heads = G, the number of groups;  H / H_kv = query heads in a group
Differs: keys and values are never repeated to H heads. The queries of a group become rows of one
    longer query instead: what is read once from memory then serves the whole group.
Same contract as: torch.nn.functional.scaled_dot_product_attention with enable_gqa=True
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_grouped, check_mask


def grouped_query_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
) -> Float[Tensor, "B H L d_v"]:
    """Return attention in which query head h reads key and value head h // (H / H_kv).

    Args:
        query: What each position asks for, in every head.
        key: What each position offers; H_kv divides H.
        value: What each position hands over.
        attn_mask: True where a query may attend; it broadcasts to (B, H, L, S).
    """
    check_grouped(query, key, value)
    (num_heads, length), num_kv_heads = query.shape[1:3], key.shape[1]
    by_group = (num_kv_heads, num_heads // num_kv_heads)
    if attn_mask is not None:
        check_mask(attn_mask, torch.Size((*query.shape[:3], key.shape[2])))
        attn_mask = _mask_of_rows(attn_mask, by_group, length, key.shape[2])
    # (B, H_kv, group · L, d_k): the queries of a group are rows that meet the same keys.
    rows = query.unflatten(1, by_group).flatten(2, 3)
    out = F.scaled_dot_product_attention(rows, key, value, attn_mask)
    return out.unflatten(2, (by_group[1], length)).flatten(1, 2)


def _mask_of_rows(mask: Tensor, by_group: tuple[int, int], length: int, num_keys: int) -> Tensor:
    """Return the mask with the axes (#B, #H_kv, group · L, S); one for all heads stays one."""
    mask = mask[(None,) * (4 - mask.dim())]
    grouped = mask.unflatten(1, by_group) if mask.shape[1] > 1 else mask.unsqueeze(2)
    return grouped.expand(-1, -1, by_group[1], length, num_keys).flatten(2, 3)
