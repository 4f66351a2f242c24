"""Right answers to the exercises of chapter 10 in other styles: what is kept, and where."""

import math

import numpy as np
import torch
import torch.nn.functional as F

# paged_gather


def gather_by_blocks(pool, block_table, length):
    size = pool.shape[1]
    return pool[block_table[: math.ceil(length / size)]].flatten(0, 1)[:length]


def gather_by_positions(pool, block_table, length):
    place = torch.arange(length)
    return pool[block_table[place // pool.shape[1]], place % pool.shape[1]]


def gather_row_by_row(pool, table, length):
    rows = []
    for i in range(length):
        block, slot = divmod(i, pool.shape[1])
        rows.append(pool[int(table[block]), slot])
    return torch.stack(rows)


def gather_block_by_block(pool, table, length):
    parts, left = [], length
    for block in table.tolist():
        if left <= 0:
            break
        parts.append(pool[block, : min(left, pool.size(1))])
        left -= pool.size(1)
    return torch.cat(parts, dim=0)


def gather_all_then_cut(pool, block_table, length):
    """-1 reads the last block; those rows are behind the end and are cut."""
    return pool[block_table].reshape(-1, *pool.shape[2:])[:length]


def gather_by_embedding(pool, table, length):
    rows = pool.reshape(-1, pool.shape[2] * pool.shape[3])
    place = torch.arange(length)
    index = table[place // pool.shape[1]] * pool.shape[1] + place % pool.shape[1]
    return F.embedding(index, rows).view(length, *pool.shape[2:])


def gather_into_a_table(pool, table, length):
    out = pool.new_empty(length, *pool.shape[2:])
    for start in range(0, length, pool.shape[1]):
        stop = min(start + pool.shape[1], length)
        out[start:stop] = pool[table[start // pool.shape[1]], : stop - start]
    return out


def gather_by_index_select(pool, table, length):
    real = table.clamp(min=0)
    return torch.index_select(pool, 0, real).flatten(0, 1).narrow(0, 0, length)


# quantize_kv


def quantize_plainly(x):
    scale = x.abs().max(dim=-1, keepdim=True).values / 127
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    return torch.round(x / scale).to(torch.int8), scale


def quantize_by_numbers_first(x):
    top = x.abs().amax(-1, keepdim=True)
    scale = (top / 127.0).masked_fill(top == 0, 1.0)
    return x.detach().mul(1 / scale).round().clip(-127, 127).char(), scale


def quantize_row_by_row(x):
    q, scales = torch.empty(x.shape, dtype=torch.int8), []
    for b, h, s in np.ndindex(*x.shape[:3]):
        row = x[b, h, s]
        top = row.abs().max()
        scale = top / 127 if top > 0 else torch.ones((), dtype=x.dtype) + 0 * top
        q[b, h, s] = (row / scale).detach().round()
        scales.append(scale)
    return q, torch.stack(scales).view(*x.shape[:3], 1)


def quantize_by_norm(x):
    scale = x.norm(p=torch.inf, dim=-1, keepdim=True) / 127
    scale = scale + (scale == 0)
    return [(x / scale).round().to(torch.int8), scale]


def quantize_by_both_ends(x):
    top = torch.maximum(x.amax(-1), -x.amin(-1))[..., None]
    empty = ~x.any(-1, keepdim=True)
    scale = torch.where(empty, 1.0, top / 127)
    q = torch.clamp(torch.round(x / scale), -127, 127)
    return q.type(torch.int8), scale


def quantize_half_away_from_zero(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    scale = torch.where(scale > 0, scale, 1.0)
    steps = x / scale
    return (steps.sign() * (steps.abs() + 0.5).floor()).to(torch.int8), scale


RIGHT_WAYS_STORES = {
    "paged_gather": (
        gather_by_blocks,
        gather_by_positions,
        gather_row_by_row,
        gather_block_by_block,
        gather_all_then_cut,
        gather_by_embedding,
        gather_into_a_table,
        gather_by_index_select,
    ),
    "quantize_kv": (
        quantize_plainly,
        quantize_by_numbers_first,
        quantize_row_by_row,
        quantize_by_norm,
        quantize_by_both_ends,
        quantize_half_away_from_zero,
    ),
}
