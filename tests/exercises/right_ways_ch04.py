"""Right answers to the exercises of chapter 04 in other styles than the reference."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# soft_lookup


def lookup_entry_by_entry(query, key, value, temperature):
    rows = []
    for q in query:
        scores = torch.stack([(q * k).sum() / temperature for k in key])
        powers = torch.exp(scores - scores.max())
        shares = powers / powers.sum()
        rows.append(sum(share * v for share, v in zip(shares, value, strict=True)))
    return torch.stack(rows)


def lookup_by_einsum(q, k, v, t):
    weights = torch.einsum("ld,sd->ls", q, k).div(t).softmax(dim=1)
    return torch.einsum("ls,sv->lv", weights, v)


def lookup_by_torch_s_attention(q, k, v, t):
    return F.scaled_dot_product_attention(q, k, v, scale=1 / t)


def lookup_with_a_colder_query(q, k, v, t):
    return F.linear(F.softmax(F.linear(q / t, k), -1), v.T)


def lookup_through_logarithms(q, k, v, t):
    scores = q @ k.transpose(0, 1)
    scores = scores - scores.amax(dim=1, keepdim=True)
    scores = scores / t
    return torch.exp(scores - scores.logsumexp(1, keepdim=True)) @ v


def lookup_in_place_on_fresh_tensors(q, k, v, t):
    scores = torch.mm(q, k.t())
    scores /= t
    scores -= scores.detach().max(dim=-1, keepdim=True).values
    return torch.mm(torch.softmax(scores, -1), v)


def lookup_averaged_after_the_sum(q, k, v, t):
    scores = (q.unsqueeze(1) * k.unsqueeze(0)).sum(-1) * (1.0 / t)
    powers = (scores - scores.max(1, True)[0]).exp()
    return (powers @ v) / powers.sum(1, keepdim=True)


def lookup_in_float64(q, k, v, t):
    return (torch.softmax(q.double() @ k.double().T / t, 1) @ v.double()).to(v.dtype)


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


# cross_attention


def cross_by_einsum(x, context, W_q, W_k, W_v):
    q = torch.einsum("bld,dk->blk", x, W_q)
    k = torch.einsum("bsc,ck->bsk", context, W_k)
    v = torch.einsum("bsc,cv->bsv", context, W_v)
    weights = (torch.einsum("blk,bsk->bls", q, k) / math.sqrt(q.size(-1))).softmax(-1)
    return torch.einsum("bls,bsv->blv", weights, v)


def cross_by_torch_s_attention(x, c, W_q, W_k, W_v):
    return F.scaled_dot_product_attention(x @ W_q, c @ W_k, c @ W_v)


def cross_values_projected_last(x, c, W_q, W_k, W_v):
    scores = torch.bmm(x @ W_q, (c @ W_k).transpose(1, 2)) * W_q.shape[1] ** -0.5
    return torch.softmax(scores, dim=2) @ c @ W_v


def cross_as_one_bilinear_form(x, c, W_q, W_k, W_v):
    """W_q W_kᵀ is all that the scores see."""
    scores = x @ (W_q @ W_k.T) @ c.mT
    weights = torch.softmax(scores / W_k.shape[-1] ** 0.5, -1)
    return weights @ (c @ W_v)


def cross_sequence_by_sequence(x, c, W_q, W_k, W_v):
    out = []
    for one, other in zip(x, c, strict=True):
        scores = (one @ W_q) @ (other @ W_k).T
        out.append(F.softmax(scores / math.sqrt(W_q.size(1)), -1) @ (other @ W_v))
    return torch.stack(out)


def cross_query_by_query(x, c, W_q, W_k, W_v):
    keys, values = c @ W_k / W_k.shape[1] ** 0.25, c @ W_v
    rows = []
    for i in range(x.shape[1]):
        query = x[:, i] @ W_q / W_q.shape[1] ** 0.25
        scores = (query.unsqueeze(1) * keys).sum(-1)
        powers = torch.exp(scores - scores.amax(-1, keepdim=True))
        rows.append((powers.unsqueeze(-1) * values).sum(1) / powers.sum(-1, keepdim=True))
    return torch.stack(rows, dim=1)


def cross_keys_and_values_fused(x, c, W_q, W_k, W_v):
    key, value = (c @ torch.cat((W_k, W_v), 1)).split((W_k.size(1), W_v.size(1)), -1)
    scores = (x @ W_q).matmul(key.mT).div(key.size(-1) ** 0.5)
    return scores.softmax(-1).matmul(value)


class CrossAttention(nn.Module):
    def forward(self, x, context, W_q, W_k, W_v):
        return cross_by_einsum(x, context, W_q, W_k, W_v)


cross_module = CrossAttention()
cross_module.__name__ = "cross_module"


# qkv_parameters


def parameters_matrix_by_matrix(d_model, num_heads, d_k, d_v, bias):
    total = 0
    for _ in range(num_heads):
        for width in (d_k, d_k, d_v):
            total += d_model * width
            if bias:
                total += width
    return total


def parameters_as_one_more_row(d_model, num_heads, d_k, d_v, bias):
    rows = d_model + 1 if bias else d_model
    return rows * num_heads * (d_k + d_k + d_v)


def parameters_of_meta_modules(d_model, num_heads, d_k, d_v, bias):
    layers = [
        nn.Linear(d_model, num_heads * width, bias=bias, device="meta") for width in (d_k, d_k, d_v)
    ]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def parameters_of_meta_tensors(D, H, k, v, bias):
    shapes = [(D, H, k), (D, H, k), (D, H, v)] + ([(H, k), (H, k), (H, v)] if bias else [])
    return int(sum(torch.empty(shape, device="meta").numel() for shape in shapes))


def parameters_in_words(d_model, num_heads, d_k, d_v, bias):
    query = key = d_model * num_heads * d_k + bias * num_heads * d_k
    value = d_model * num_heads * d_v + bias * num_heads * d_v
    return query + key + value


def parameters_of_real_layers(d_model, num_heads, d_k, d_v, bias):
    layers = [nn.Linear(d_model, num_heads * width, bias=bias) for width in (d_k, d_k, d_v)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


RIGHT_WAYS_CH04 = {
    "soft_lookup": (
        lookup_entry_by_entry,
        lookup_by_einsum,
        lookup_by_torch_s_attention,
        lookup_with_a_colder_query,
        lookup_through_logarithms,
        lookup_in_place_on_fresh_tensors,
        lookup_averaged_after_the_sum,
        lookup_in_float64,
    ),
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
    "cross_attention": (
        cross_by_einsum,
        cross_by_torch_s_attention,
        cross_values_projected_last,
        cross_as_one_bilinear_form,
        cross_sequence_by_sequence,
        cross_query_by_query,
        cross_keys_and_values_fused,
        cross_module,
    ),
    "qkv_parameters": (
        parameters_matrix_by_matrix,
        parameters_as_one_more_row,
        parameters_of_meta_modules,
        parameters_of_meta_tensors,
        parameters_in_words,
        parameters_of_real_layers,
    ),
}
