"""Right answers for chapter 05 in other styles than the references: all of them must pass."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

INF = torch.inf

# split_heads


def split_by_permute(x, num_heads):
    B, L, D = x.size()
    return x.contiguous().view(B, L, num_heads, D // num_heads).permute(0, 2, 1, 3).contiguous()


def split_by_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_slices(x, num_heads):
    d_k = x.shape[2] // num_heads
    return torch.cat([x[:, None, :, h * d_k : (h + 1) * d_k] for h in range(num_heads)], 1)


def split_by_unflatten(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(2, 1)


def split_transposed_first(x, num_heads):
    """The width before the positions, cut there, and turned back."""
    B, L, D = x.shape
    return x.mT.reshape(B, num_heads, D // num_heads, L).mT


def split_into_a_fresh_tensor(x, num_heads):
    B, L, D = x.shape
    d_k = D // num_heads
    out = torch.zeros(B, num_heads, L, d_k, dtype=x.dtype)
    for h in range(num_heads):
        out[:, h] = x[..., h * d_k : (h + 1) * d_k]
    return out


def split_by_index(x, num_heads):
    channel = torch.arange(x.shape[-1]).view(num_heads, -1)
    return x[:, :, channel].swapaxes(1, 2)


# merge_heads


def merge_by_permute(heads):
    B, H, L, d_k = heads.shape
    return heads.permute(0, 2, 1, 3).contiguous().view(B, L, H * d_k)


def merge_by_cat(heads):
    return torch.cat(heads.unbind(1), dim=-1)


def merge_by_loop(heads):
    return torch.cat([heads[:, h] for h in range(heads.shape[1])], dim=2)


def merge_by_stack(heads):
    return torch.stack(tuple(heads.transpose(0, 1)), dim=2).flatten(2, 3)


def merge_into_a_fresh_tensor(heads):
    B, H, L, d_k = heads.shape
    out = heads.new_empty(B, L, H * d_k)
    for h in range(H):
        out[:, :, h * d_k : h * d_k + d_k] = heads[:, h]
    return out


def merge_transposed(heads):
    return heads.mT.flatten(1, 2).mT


# multi_head_attention


def _split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3)


def _merge(heads):
    return torch.cat(heads.unbind(1), dim=-1)


def _softmax(scores: Tensor) -> Tensor:
    empty = (scores == -INF).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


def mha_by_loop(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    B, L, D = query.shape
    S, d_k = key.shape[1], D // num_heads
    outs = []
    for h in range(num_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        q, k, v = query @ W_q[:, own], key @ W_k[:, own], value @ W_v[:, own]
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(d_k)
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask.expand(B, num_heads, L, S)[:, h], -INF)
        outs.append(_softmax(scores) @ v)
    return torch.cat(outs, -1) @ W_o


def mha_by_einsum(q, k, v, wq, wk, wv, wo, h, mask=None):
    d_model = wq.shape[0]
    cut = (d_model, h, d_model // h)
    q = torch.einsum("bld,dhk->bhlk", q, wq.reshape(cut))
    k = torch.einsum("bsd,dhk->bhsk", k, wk.reshape(cut))
    v = torch.einsum("bsd,dhk->bhsk", v, wv.reshape(cut))
    scores = torch.einsum("bhlk,bhsk->bhls", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, -INF)
    heads = torch.einsum("bhls,bhsk->bhlk", _softmax(scores), v)
    return torch.einsum("bhlk,hkd->bld", heads, wo.reshape(h, -1, wo.shape[1]))


def mha_with_torch_sdpa(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    """Chapter 03 wrote attention itself: here torch's stands for it."""
    q, k, v = (_split(x @ w, num_heads) for x, w in ((query, W_q), (key, W_k), (value, W_v)))
    return _merge(F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)) @ W_o


def mha_with_minus_1e9(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    q, k, v = (
        _split(F.linear(x, w.t()), num_heads) for x, w in ((query, W_q), (key, W_k), (value, W_v))
    )
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask == 0, -1e9)
    weights = F.softmax(scores, dim=-1)
    if attn_mask is not None:
        weights = weights * attn_mask.any(dim=-1, keepdim=True)
    return F.linear(_merge(weights @ v), W_o.t())


def mha_folded(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    """Sequences and heads in one axis, as torch's own form has it."""
    B, L, D = query.shape
    S, d_k = key.shape[1], D // num_heads

    def fold(x: Tensor) -> Tensor:
        x = x.transpose(0, 1).contiguous()
        return x.view(x.shape[0], B * num_heads, d_k).transpose(0, 1)

    q, k, v = fold(query @ W_q) * d_k**-0.5, fold(key @ W_k), fold(value @ W_v)
    scores = torch.bmm(q, k.transpose(1, 2))
    if attn_mask is not None:
        full = attn_mask.expand(B, num_heads, L, S).reshape(B * num_heads, L, S)
        bias = torch.zeros(full.shape, dtype=q.dtype).masked_fill(~full, -INF)
        scores = scores + bias.masked_fill(~full.any(-1, keepdim=True), 0.0)
        weights = torch.softmax(scores, -1) * full.any(-1, keepdim=True)
    else:
        weights = torch.softmax(scores, -1)
    out = torch.bmm(weights, v).transpose(0, 1).contiguous().view(L, B, D)
    return (out @ W_o).transpose(0, 1)


def mha_one_sequence_at_a_time(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    """No concatenation: each head is mixed by its rows of W_o, and the heads are added up."""
    B, L, D = query.shape
    d_k = D // num_heads
    outs = []
    for b in range(B):
        total = torch.zeros(L, D, dtype=query.dtype)
        for h in range(num_heads):
            own = slice(h * d_k, (h + 1) * d_k)
            q, k, v = (query[b] @ W_q)[:, own], (key[b] @ W_k)[:, own], (value[b] @ W_v)[:, own]
            scores = q @ k.T / d_k**0.5
            if attn_mask is not None:
                mask = attn_mask
                while mask.dim() < 4:
                    mask = mask[None]
                mask = mask[b if mask.shape[0] > 1 else 0, h if mask.shape[1] > 1 else 0]
                scores = scores.masked_fill(mask.logical_not(), -INF)
            total = total + _softmax(scores) @ v @ W_o[own]
        outs.append(total)
    return torch.stack(outs)


def mha_repaired_after(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    """NaN of an empty row replaced afterwards: masked_fill stops its gradient, so it is right."""
    q = _split(query @ W_q, num_heads)
    k = _split(key @ W_k, num_heads)
    v = _split(value @ W_v, num_heads)
    scores = (q @ k.mT).div(q.shape[-1] ** 0.5)
    if attn_mask is not None:
        scores.masked_fill_(~attn_mask, -INF)
    return _merge(scores.softmax(-1).nan_to_num(0.0) @ v) @ W_o


def mha_emptied_after_w_o(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    """Each head mixed and emptied on its own: without a bias, after W_o is as good as before."""
    q, k, v = (_split(x @ w, num_heads) for x, w in ((query, W_q), (key, W_k), (value, W_v)))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -1e30)
    parts = scores.softmax(-1) @ v @ W_o.view(num_heads, -1, W_o.shape[-1])
    if attn_mask is not None:
        parts = torch.where(attn_mask.any(-1, keepdim=True), parts, 0.0)
    return parts.sum(dim=1)


class MHA(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.0)

    def forward(self, query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
        wide = [t.double() for t in (query, key, value, W_q, W_k, W_v, W_o)]
        out = mha_by_einsum(*wide, num_heads, attn_mask)
        return self.drop(out).to(query.dtype)


mha_module = MHA()
mha_module.__name__ = "mha_module_in_float64"


# mha_parameters


def parameters_by_formula(d_model, num_heads, bias):
    return 4 * d_model**2 + (4 * d_model if bias else 0)


def parameters_by_heads(d_model, num_heads, bias):
    d_k = d_model // num_heads
    total = 0
    for _ in range(num_heads):
        total += 3 * (d_model * d_k + int(bias) * d_k)
    return total + num_heads * d_k * d_model + int(bias) * d_model


def parameters_of_torch(d_model, num_heads, bias):
    layer = nn.MultiheadAttention(d_model, num_heads, bias=bias)
    return sum(p.numel() for p in layer.parameters())


def parameters_of_four_layers(d_model, num_heads, bias):
    layers = [nn.Linear(d_model, d_model, bias=bias, device="meta") for _ in "qkvo"]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def parameters_factored(width, heads, has_bias):
    return 4 * width * (width + has_bias)


# ablate_heads


def ablate_by_product(head_outputs, W_o, keep):
    return merge_by_permute(head_outputs * keep.view(1, -1, 1, 1)) @ W_o


def ablate_rows_of_w_o(head_outputs, W_o, keep):
    rows = keep.repeat_interleave(head_outputs.shape[-1]).unsqueeze(1)
    return merge_by_cat(head_outputs) @ (W_o * rows)


def ablate_by_adding_up(head_outputs, W_o, keep):
    B, H, L, d_k = head_outputs.shape
    out = torch.zeros(B, L, W_o.shape[1], dtype=W_o.dtype)
    for h in range(H):
        if keep[h]:
            out = out + head_outputs[:, h] @ W_o[h * d_k : (h + 1) * d_k]
    return out


def ablate_by_choosing(head_outputs, W_o, keep):
    """Heads removed together with their rows of W_o: a sum over fewer channels, and as right."""
    rows = W_o.view(keep.numel(), -1, W_o.shape[1])[keep].flatten(0, 1)
    return merge_by_cat(head_outputs)[..., keep.repeat_interleave(head_outputs.shape[-1])] @ rows


def ablate_a_copy(head_outputs, W_o, keep):
    copy = head_outputs.clone()
    copy[:, ~keep] = 0
    return merge_by_loop(copy) @ W_o


def ablate_by_einsum(head_outputs, W_o, keep):
    blocks = W_o.reshape(head_outputs.shape[1], head_outputs.shape[-1], -1)
    return torch.einsum("bhlk,hkd,h->bld", head_outputs, blocks, keep.to(W_o.dtype))


def ablate_by_where(head_outputs, W_o, keep):
    zero = torch.zeros_like(head_outputs)
    return torch.matmul(
        merge_by_permute(torch.where(keep[None, :, None, None], head_outputs, zero)), W_o
    )


def ablate_by_subtraction(head_outputs, W_o, keep):
    """All heads, less what the silent ones say."""
    silent = head_outputs * (~keep)[:, None, None]
    return merge_by_cat(head_outputs) @ W_o - merge_by_cat(silent) @ W_o


RIGHT_WAYS_CH05: dict[str, tuple[Callable[..., object], ...]] = {
    "split_heads": (
        split_by_permute,
        split_by_chunks,
        split_by_slices,
        split_by_unflatten,
        split_transposed_first,
        split_into_a_fresh_tensor,
        split_by_index,
    ),
    "merge_heads": (
        merge_by_permute,
        merge_by_cat,
        merge_by_loop,
        merge_by_stack,
        merge_into_a_fresh_tensor,
        merge_transposed,
    ),
    "multi_head_attention": (
        mha_by_loop,
        mha_by_einsum,
        mha_with_torch_sdpa,
        mha_with_minus_1e9,
        mha_folded,
        mha_one_sequence_at_a_time,
        mha_repaired_after,
        mha_emptied_after_w_o,
        mha_module,
    ),
    "mha_parameters": (
        parameters_by_formula,
        parameters_by_heads,
        parameters_of_torch,
        parameters_of_four_layers,
        parameters_factored,
    ),
    "ablate_heads": (
        ablate_by_product,
        ablate_rows_of_w_o,
        ablate_by_adding_up,
        ablate_by_choosing,
        ablate_a_copy,
        ablate_by_einsum,
        ablate_by_where,
        ablate_by_subtraction,
    ),
}
