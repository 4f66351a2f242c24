"""Right answers to the exercises of chapter 10 in other styles: writing to a cache, reading it."""

import math

import torch
import torch.nn.functional as F

from tests.exercises.right_ways_ch10_numbers import RIGHT_WAYS_NUMBERS
from tests.exercises.right_ways_ch10_stores import RIGHT_WAYS_STORES
from tests.exercises.right_ways_ch10_writing import RIGHT_WAYS_WRITING

# append_kv


def append_row_by_row(cache_key, cache_value, length, key, value):
    if length + key.size(2) > cache_key.size(2):
        raise ValueError("no room")
    for t in range(key.size(2)):
        cache_key[:, :, length + t] = key[:, :, t]
        cache_value[:, :, length + t] = value[:, :, t]
    return length + key.size(2)


def append_by_copy(ck, cv, n, k, v):
    new = k.shape[-2]
    if ck.shape[-2] - n < new:
        raise ValueError(f"{new} tokens do not fit behind {n} of {ck.shape[-2]}")
    ck.narrow(2, n, new).copy_(k)
    cv.narrow(2, n, new).copy_(v)
    return n + new


def append_by_index(ck, cv, n, k, v):
    slots = torch.arange(n, n + k.shape[2])
    if len(slots) and int(slots[-1]) >= ck.shape[2]:
        raise ValueError("full")
    ck.index_copy_(2, slots, k)
    cv.index_copy_(2, slots, v)
    return int(slots[-1]) + 1


def append_by_scatter(ck, cv, n, k, v):
    end = n + k.shape[2]
    if not end <= ck.shape[2]:
        raise ValueError
    index = torch.arange(n, end).view(1, 1, -1, 1).expand_as(k)
    ck.scatter_(2, index, k)
    cv.scatter_(2, index, v)
    return end


class FullError(ValueError):
    pass


def append_both_at_once(ck, cv, n, k, v):
    *_, new, _ = k.shape
    if n + new > ck.shape[2]:
        raise FullError("the cache is full")
    for cache, fresh in ((ck, k), (cv, v)):
        cache[..., n : n + new, :].copy_(fresh)
    return n + new


def append_by_put(ck, cv, n, k, v):
    if any(n + i >= ck.shape[2] for i in range(k.shape[2])):
        raise ValueError("full")
    slots = [n + i for i in range(k.shape[2])]
    with torch.no_grad():
        ck[:, :, slots], cv[:, :, slots] = k, v
    return n + len(slots)


# decode_step


def step_by_torch(query, ck, cv, length):
    new = query.shape[2]
    mask = torch.ones(new, length, dtype=torch.bool).tril(length - new)
    return F.scaled_dot_product_attention(query, ck[:, :, :length], cv[:, :, :length], mask)


def step_with_minus_1e9(query, ck, cv, length):
    k, v = ck[:, :, :length], cv[:, :, :length]
    s = query @ k.transpose(-2, -1) / math.sqrt(query.size(-1))
    own = torch.arange(length - query.size(2), length)
    later = torch.arange(length)[None, :] > own[:, None]
    return torch.softmax(s.masked_fill(later, -1e9), dim=-1) @ v


def step_query_by_query(query, ck, cv, length):
    outs = []
    for t in range(query.shape[2]):
        seen = length - query.shape[2] + t + 1
        row = query[:, :, t : t + 1]
        w = F.softmax((row * ck[:, :, :seen]).sum(-1) / query.shape[-1] ** 0.5, dim=-1)
        outs.append((w.unsqueeze(-1) * cv[:, :, :seen]).sum(2))
    return torch.stack(outs, dim=2)


def step_by_einsum(q, ck, cv, n):
    k, v = ck.narrow(2, 0, n), cv.narrow(2, 0, n)
    s = torch.einsum("bhtd,bhsd->bhts", q, k) * q.shape[-1] ** -0.5
    s = s + torch.full((q.shape[2], n), -math.inf, dtype=s.dtype).triu(n - q.shape[2] + 1)
    return torch.einsum("bhts,bhsd->bhtd", s.softmax(-1), v)


def step_by_parts(q, ck, cv, n):
    """The past without a mask, the chunk with one, and one softmax over both."""
    past, new = n - q.shape[2], q.shape[2]
    q = q / math.sqrt(q.shape[-1])
    before = q @ ck[:, :, :past].mT
    inside = (q @ ck[:, :, past:n].mT).masked_fill(~torch.ones(new, new).tril().bool(), -torch.inf)
    w = torch.cat([before, inside], -1).softmax(-1)
    return w[..., :past] @ cv[:, :, :past] + w[..., past:] @ cv[:, :, past:n]


def step_with_free_slots_emptied(q, ck, cv, n):
    """Reads all slots, after what the free ones hold was replaced in a copy."""
    slots = torch.arange(ck.shape[2])
    free = (slots >= n).unsqueeze(-1)
    k, v = ck.masked_fill(free, 0.0), cv.masked_fill(free, 0.0)
    own = torch.arange(n - q.shape[2], n).unsqueeze(-1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=slots <= own)


def step_head_by_head(q, ck, cv, n):
    out = torch.empty_like(q)
    mask = torch.ones(q.shape[2], n).triu(n - q.shape[2] + 1).bool()
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h] @ ck[b, h, :n].T / q.shape[-1] ** 0.5
            out[b, h] = scores.masked_fill(mask, -torch.inf).softmax(-1) @ cv[b, h, :n]
    return out


RIGHT_WAYS_CH10 = {
    "append_kv": (
        append_row_by_row,
        append_by_copy,
        append_by_index,
        append_by_scatter,
        append_both_at_once,
        append_by_put,
    ),
    "decode_step": (
        step_by_torch,
        step_with_minus_1e9,
        step_query_by_query,
        step_by_einsum,
        step_by_parts,
        step_with_free_slots_emptied,
        step_head_by_head,
    ),
    **RIGHT_WAYS_NUMBERS,
    **RIGHT_WAYS_STORES,
    **RIGHT_WAYS_WRITING,
}
