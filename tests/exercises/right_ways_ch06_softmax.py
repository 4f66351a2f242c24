"""Right ways to write masked_softmax."""

import torch
import torch.nn.functional as F

INF = torch.inf


def softmax_by_rows(scores, attn_mask):
    mask = attn_mask.expand(scores.shape)
    rows = []
    flat = mask.reshape(-1, mask.shape[-1])
    for row, seen in zip(scores.reshape(-1, scores.shape[-1]), flat, strict=True):
        weights = torch.zeros_like(row)
        if seen.any():
            weights[seen] = torch.softmax(row[seen], dim=0)
        rows.append(weights)
    return torch.stack(rows).view(scores.shape)


def softmax_with_lowest_number(scores, attn_mask):
    low = torch.where(attn_mask, scores, torch.finfo(scores.dtype).min)
    return F.softmax(low, dim=-1) * attn_mask


def softmax_with_minus_1e9_in_float32(scores, attn_mask):
    wide = scores if scores.dtype == torch.float64 else scores.float()
    weights = wide.masked_fill(~attn_mask, -1e9).softmax(-1)
    return weights.masked_fill(~attn_mask, 0.0).to(scores.dtype)


def softmax_with_minus_1e9_where_it_fits(scores, attn_mask):
    low = max(-1e9, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores.masked_fill(attn_mask.logical_not(), low), -1)
    return torch.where(attn_mask.any(-1, keepdim=True), weights, 0.0)


def softmax_with_added_infinity(scores, attn_mask):
    empty = ~attn_mask.any(dim=-1, keepdim=True)
    bias = torch.zeros(attn_mask.shape, dtype=scores.dtype)
    bias = bias.masked_fill(~(attn_mask | empty), -INF)
    return (scores + bias).softmax(dim=-1).masked_fill(empty, 0.0)


def softmax_repaired_behind_a_fill(scores, attn_mask):
    return scores.masked_fill(~attn_mask, -INF).softmax(-1).nan_to_num(0.0)


def softmax_zeroed_behind_a_fill(scores, attn_mask):
    weights = torch.softmax(scores.masked_fill(~attn_mask, -INF), -1)
    return weights.masked_fill(~attn_mask, 0.0)


def softmax_by_hand(scores, attn_mask):
    hidden = scores.masked_fill(~attn_mask, -INF)
    top = hidden.max(dim=-1, keepdim=True).values
    top = torch.where(top == -INF, torch.zeros_like(top), top)
    powers = (hidden - top).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-6 if powers.itemsize < 4 else 1e-30)


def softmax_on_a_changed_copy(scores, attn_mask):
    mask = attn_mask.expand_as(scores)
    copy = scores.clone()
    copy[~mask] = float("-inf")
    copy[~mask.any(-1)] = 0.0
    weights = torch.softmax(copy, dim=-1)
    return weights * mask.to(weights.dtype)


def softmax_through_logarithms(scores, attn_mask):
    hidden = torch.where(attn_mask, scores.double(), -INF)
    empty = (~attn_mask).all(-1, keepdim=True)
    logs = hidden.masked_fill(empty, 0.0).log_softmax(-1)
    return (logs.exp() * ~empty).to(scores.dtype)


RIGHT_WAYS_SOFTMAX = {
    "masked_softmax": (
        softmax_by_rows,
        softmax_with_lowest_number,
        softmax_with_minus_1e9_in_float32,
        softmax_with_minus_1e9_where_it_fits,
        softmax_with_added_infinity,
        softmax_repaired_behind_a_fill,
        softmax_zeroed_behind_a_fill,
        softmax_by_hand,
        softmax_on_a_changed_copy,
        softmax_through_logarithms,
    ),
}
