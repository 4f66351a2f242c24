"""Right answers to the exercises of chapter 08 in other styles: sharing heads."""

import math

import torch
import torch.nn.functional as F

from tests.exercises.right_ways_ch08_linear import RIGHT_WAYS_LINEAR
from tests.exercises.right_ways_ch08_patterns import RIGHT_WAYS_PATTERNS
from tests.exercises.right_ways_ch08_reduced import RIGHT_WAYS_REDUCED
from tests.exercises.right_ways_ch08_window import RIGHT_WAYS_WINDOW


def _softmax(scores, mask):
    if mask is None:
        return scores.softmax(-1)
    empty = ~mask.any(-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0)
    return hidden.softmax(-1).masked_fill(empty, 0.0)


# grouped_query_attention


def grouped_by_einsum(query, key, value, attn_mask=None):
    b, h, length, d = query.shape
    g = h // key.shape[1]
    scores = torch.einsum("bkgld,bksd->bkgls", query.view(b, -1, g, length, d), key) / d**0.5
    weights = _softmax(scores.flatten(1, 2), attn_mask).unflatten(1, (-1, g))
    return torch.einsum("bkgls,bksv->bkglv", weights, value).flatten(1, 2)


def grouped_head_by_head(q, k, v, mask=None):
    group = q.shape[1] // k.shape[1]
    if mask is not None:
        mask = mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    outs = []
    for h in range(q.shape[1]):
        scores = q[:, h] @ k[:, h // group].transpose(1, 2) / math.sqrt(q.shape[-1])
        outs.append(_softmax(scores, None if mask is None else mask[:, h]) @ v[:, h // group])
    return torch.stack(outs, 1)


def grouped_by_torch_inside_each_group(q, k, v, attn_mask=None):
    size = q.shape[1] // k.shape[1]
    full = None
    if attn_mask is not None:
        full = attn_mask.expand(*q.shape[:3], k.shape[2])
    outs = []
    for j in range(k.shape[1]):
        mine = slice(j * size, (j + 1) * size)
        rows = q[:, mine].flatten(1, 2)
        mask = None if full is None else full[:, mine].flatten(1, 2)
        out = F.scaled_dot_product_attention(rows, k[:, j], v[:, j], attn_mask=mask)
        outs.append(out.unflatten(1, (size, -1)))
    return torch.cat(outs, dim=1)


def grouped_rows_with_minus_1e9(q, k, v, mask=None):
    b, h, length, d = q.shape
    shared = k.size(1)
    scores = (q.reshape(b, shared, -1, d) @ k.mT).reshape(b, h, length, -1) * d**-0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    w = scores.softmax(dim=-1)
    if mask is not None:
        w = w * mask.any(-1, keepdim=True)
    return (w.reshape(b, shared, -1, k.size(2)) @ v).reshape(b, h, length, -1)


def grouped_by_bmm(q, k, v, mask=None):
    b, h, length, d = q.shape
    shared, s = k.shape[1:3]
    keys = k.reshape(b * shared, s, d).transpose(1, 2)
    scores = torch.bmm(q.reshape(b * shared, -1, d), keys).view(b, h, length, s) / math.sqrt(d)
    out = torch.bmm(_softmax(scores, mask).view(b * shared, -1, s), v.reshape(b * shared, s, -1))
    return out.view(b, h, length, -1)


def grouped_written_into_a_table(q, k, v, mask=None):
    group = q.shape[1] // k.shape[1]
    out = q.new_zeros(*q.shape[:3], v.shape[-1])
    whole = None if mask is None else mask.expand(*q.shape[:3], k.shape[2])
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h] @ k[b, h // group].T * q.shape[-1] ** -0.5
            out[b, h] = _softmax(scores, None if whole is None else whole[b, h]) @ v[b, h // group]
    return out


RIGHT_WAYS_CH08 = {
    **RIGHT_WAYS_WINDOW,
    **RIGHT_WAYS_LINEAR,
    **RIGHT_WAYS_PATTERNS,
    **RIGHT_WAYS_REDUCED,
    "grouped_query_attention": (
        grouped_by_einsum,
        grouped_head_by_head,
        grouped_by_torch_inside_each_group,
        grouped_rows_with_minus_1e9,
        grouped_by_bmm,
        grouped_written_into_a_table,
    ),
}
