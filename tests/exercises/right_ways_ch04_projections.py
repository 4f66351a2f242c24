"""Right answers to the exercises of chapter 04 that project and split."""

import torch
import torch.nn.functional as F
from torch import nn

# project_qkv


def project_by_einsum(x, W_q, W_k, W_v):
    return tuple(torch.einsum("bld,dk->blk", x, W) for W in (W_q, W_k, W_v))


def project_by_linear(x, W_q, W_k, W_v):
    return F.linear(x, W_q.T), F.linear(x, W_k.T), F.linear(x, W_v.T)


def project_fused(x, W_q, W_k, W_v):
    sizes = [W_q.shape[1], W_k.shape[1], W_v.shape[1]]
    return torch.split(x @ torch.cat([W_q, W_k, W_v], dim=-1), sizes, dim=-1)


def project_position_by_position(x, W_q, W_k, W_v):
    def each(W):
        return torch.stack([torch.stack([W.T @ row for row in rows]) for rows in x])

    return [each(W_q), each(W_k), each(W_v)]


def project_flattened(x, *matrices):
    batch, length, width = x.shape
    flat = x.reshape(batch * length, width)
    return tuple(torch.mm(flat, W).view(batch, length, -1) for W in matrices)


def project_by_broadcasting(x, W_q, W_k, W_v):
    return tuple((x.unsqueeze(-1) * W).sum(-2) for W in (W_q, W_k, W_v))


def project_turned(x, W_q, W_k, W_v):
    return tuple((W.mT @ x.mT).mT for W in (W_q, W_k, W_v))


def project_by_modules(x, W_q, W_k, W_v):
    def module(W):
        layer = nn.Linear(*W.shape, bias=False, dtype=W.dtype, device="meta")
        return torch.func.functional_call(layer, {"weight": W.T}, (x,))

    return module(W_q), module(W_k), module(W_v)


# split_fused_qkv


def split_copied(qkv, num_heads):
    batch, length, width = qkv.shape
    d_k = width // 3 // num_heads
    parts = qkv.view(batch, length, 3, num_heads, d_k).permute(2, 0, 3, 1, 4).contiguous()
    return parts[0], parts[1], parts[2]


def split_like_gpt_2(qkv, num_heads):
    batch, length, width = qkv.size()
    d_model = width // 3
    q, k, v = qkv.split(d_model, dim=2)
    shape = (batch, length, num_heads, d_model // num_heads)
    return (
        q.view(shape).transpose(1, 2),
        k.view(shape).transpose(1, 2),
        v.view(shape).transpose(1, 2),
    )


def split_head_by_head(qkv, num_heads):
    width = qkv.shape[-1] // 3
    d_k = width // num_heads
    parts = []
    for third in range(3):
        start = third * width
        heads = [qkv[:, :, start + h * d_k : start + (h + 1) * d_k] for h in range(num_heads)]
        parts.append(torch.stack(heads, dim=1))
    return parts


def split_by_chunks_of_chunks(qkv, num_heads):
    return tuple(
        torch.stack(third.chunk(num_heads, -1), 1) for third in qkv.tensor_split(3, dim=-1)
    )


def split_number_by_number(qkv, num_heads):
    batch, length, width = qkv.shape
    d_k = width // (3 * num_heads)
    parts = qkv.new_zeros(3, batch, num_heads, length, d_k)
    for third in range(3):
        for h in range(num_heads):
            for i in range(d_k):
                parts[third, :, h, :, i] = qkv[:, :, (third * num_heads + h) * d_k + i]
    return tuple(parts)


def split_by_indices(qkv, num_heads):
    d_k = qkv.shape[2] // 3 // num_heads
    places = torch.arange(qkv.shape[2]).reshape(3, num_heads, d_k)
    return tuple(qkv[:, :, own].movedim(2, 1) for own in places)


def split_by_strides(qkv, num_heads):
    batch, length, width = qkv.shape
    d_k = width // 3 // num_heads
    b, i, f = qkv.stride()
    own = (batch, num_heads, length, d_k), (b, d_k * f, i, f)
    start = qkv.storage_offset()
    return tuple(qkv.as_strided(*own, start + third * num_heads * d_k * f) for third in range(3))


def split_by_einsum(qkv, num_heads):
    q, k, v = qkv.unflatten(-1, (3, num_heads, -1)).unbind(2)
    return [torch.einsum("blhd->bhld", part) for part in (q, k, v)]


def split_transposed_first(qkv, num_heads):
    batch, length, _ = qkv.shape
    columns = qkv.transpose(1, 2).reshape(batch, 3, num_heads, -1, length)
    return tuple(columns[:, third].mT for third in range(3))


RIGHT_WAYS_PROJECTIONS = {
    "project_qkv": (
        project_by_einsum,
        project_by_linear,
        project_fused,
        project_position_by_position,
        project_flattened,
        project_by_broadcasting,
        project_turned,
        project_by_modules,
    ),
    "split_fused_qkv": (
        split_copied,
        split_like_gpt_2,
        split_head_by_head,
        split_by_chunks_of_chunks,
        split_number_by_number,
        split_by_indices,
        split_by_strides,
        split_by_einsum,
        split_transposed_first,
    ),
}
