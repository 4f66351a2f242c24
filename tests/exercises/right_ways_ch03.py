"""Right answers to the exercises of chapter 03 in other styles than the reference."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

INF = torch.inf


# stable_softmax


def softmax_by_rows(scores: Tensor) -> Tensor:
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        top = max(row.tolist())
        if top == -math.inf:
            rows.append(row.new_zeros(row.shape) + torch.zeros_like(row) * row.nan_to_num(neginf=0))
            continue
        powers = torch.stack([torch.exp(x - top) for x in row])
        rows.append(powers / powers.sum())
    return torch.stack(rows).reshape(scores.shape)


def softmax_by_logsumexp(scores: Tensor) -> Tensor:
    empty = (scores == -INF).all(dim=-1, keepdim=True)
    safe = scores.masked_fill(empty, 0.0)
    return torch.exp(safe - safe.logsumexp(dim=-1, keepdim=True)).masked_fill(empty, 0.0)


def softmax_of_torch_made_safe(x: Tensor) -> Tensor:
    empty = torch.isneginf(x).all(-1, keepdim=True)
    return torch.where(empty, torch.zeros_like(x), F.softmax(torch.where(empty, 0.0, x), dim=-1))


def softmax_with_low_numbers(x: Tensor) -> Tensor:
    real = x > -INF
    low = x.masked_fill(~real, -1e9)
    weights = torch.softmax(low, dim=-1) * real
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)


def softmax_through_float64(x: Tensor) -> Tensor:
    wide = x.double()
    top = wide.max(-1, keepdim=True).values.clamp(min=-1e30)
    powers = (wide - top).exp()
    return (powers / powers.sum(-1, keepdim=True).clamp(min=1.0)).to(x.dtype)


# attention_weights


def _safe(scores: Tensor) -> Tensor:
    return softmax_of_torch_made_safe(scores)


def weights_by_einsum(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    factor = scale if scale is not None else q.size(-1) ** -0.5
    return F.softmax(torch.einsum("...ld,...sd->...ls", q, k) * factor, dim=-1)


def weights_scaled_on_both_sides(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    if scale is None:
        fourth = q.shape[-1] ** -0.25
        return torch.softmax((q * fourth) @ (k * fourth).transpose(-2, -1), dim=-1)
    return torch.softmax(scale * torch.matmul(q, k.transpose(-1, -2)), dim=-1)


def weights_by_pairs(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    products = query.unsqueeze(-2) * key.unsqueeze(-3)
    return softmax_by_logsumexp(products.sum(-1) * factor)


def weights_by_loop_over_queries(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    rows = []
    for i in range(query.shape[-2]):
        scores = (key * query[..., i : i + 1, :]).sum(-1) * factor
        rows.append(softmax_through_float64(scores))
    return torch.stack(rows, dim=-2)


# scaled_dot_product_attention


def attention_by_einsum(q, k, v, attn_mask=None, scale=None):
    s = torch.einsum("...ld,...sd->...ls", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        s = torch.where(attn_mask, s, torch.tensor(-INF, dtype=s.dtype))
    return torch.einsum("...ls,...sv->...lv", _safe(s), v)


def attention_with_minus_1e9(q, k, v, attn_mask=None, scale=None):
    s = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.size(-1)) if scale is None else scale)
    if attn_mask is None:
        return torch.softmax(s, -1) @ v
    weights = torch.softmax(s.masked_fill(attn_mask == 0, -1e9), -1)
    return (weights * attn_mask.any(-1, keepdim=True)) @ v


def attention_repaired_after(q, k, v, attn_mask=None, scale=None):
    """NaN of an empty row replaced afterwards: masked_fill stops its gradient, so it is right."""
    s = q @ k.mT * (1 / math.sqrt(q.size(-1)) if scale is None else scale)
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -INF)
    return torch.nan_to_num(torch.softmax(s, -1)) @ v


def attention_with_additive_bias(q, k, v, attn_mask=None, scale=None):
    s = q @ k.mT * (1 / math.sqrt(q.size(-1)) if scale is None else scale)
    if attn_mask is None:
        return F.softmax(s, -1) @ v
    bias = torch.zeros(attn_mask.shape, dtype=s.dtype).masked_fill_(~attn_mask, -INF)
    bias = bias.masked_fill(~attn_mask.any(-1, keepdim=True), 0.0)
    return (F.softmax(s + bias, -1) * attn_mask.any(-1, keepdim=True)) @ v


def attention_by_query_chunks(q, k, v, attn_mask=None, scale=None):
    full = None if attn_mask is None else attn_mask.expand(*q.shape[:-1], k.shape[-2])
    parts = []
    for start in range(0, q.shape[-2], 2):
        rows = slice(start, start + 2)
        mask = None if full is None else full[..., rows, :]
        parts.append(attention_by_einsum(q[..., rows, :], k, v, mask, scale))
    return torch.cat(parts, dim=-2)


def attention_online(q, k, v, attn_mask=None, scale=None):
    """One key at a time, as the flash kernels do it."""
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    top = torch.full((*q.shape[:-1], 1), -1e30, dtype=q.dtype)
    total, acc = torch.zeros_like(top), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for j in range(k.shape[-2]):
        s = (q * k[..., j : j + 1, :]).sum(-1, keepdim=True) * factor
        seen = torch.ones_like(s, dtype=torch.bool)
        if attn_mask is not None:
            seen = attn_mask.expand(*q.shape[:-1], k.shape[-2])[..., j : j + 1]
        new = torch.maximum(top, torch.where(seen, s, top)).detach()
        p = torch.where(seen, torch.exp(torch.where(seen, s, new) - new), 0.0)
        shrink = torch.exp(top - new)
        total, acc, top = total * shrink + p, acc * shrink + p * v[..., j : j + 1, :], new
    return acc / torch.where(total == 0, 1.0, total)


class AttentionModule(nn.Module):
    def forward(self, query, key, value, attn_mask=None, scale=None):
        return attention_by_einsum(query, key, value, attn_mask, scale)


attention_module = AttentionModule()
attention_module.__name__ = "attention_module"


# dot_product_variance


def variance_of_sampled_means(d_k, num_samples, generator):
    q, k = torch.randn(2, num_samples, d_k, generator=generator, dtype=torch.float64)
    dots = torch.einsum("nd,nd->n", q, k)
    return ((dots - dots.mean()) ** 2).mean().item()


def variance_one_pair_at_a_time(d_k, num_samples, generator):
    total = squares = 0.0
    for _ in range(num_samples):
        dot = torch.dot(
            torch.randn(d_k, generator=generator), torch.randn(d_k, generator=generator)
        )
        total += dot.item()
        squares += dot.item() ** 2
    return squares / num_samples - (total / num_samples) ** 2


def variance_around_the_known_mean(d_k, num_samples, generator):
    q = torch.empty(num_samples, 1, d_k).normal_(generator=generator)
    k = torch.empty(num_samples, d_k, 1).normal_(generator=generator)
    return float(torch.bmm(q, k).square().mean())


def variance_features_first(n_features, n, rng):
    q = torch.normal(0.0, 1.0, (n_features, n), generator=rng)
    k = torch.normal(0.0, 1.0, (n_features, n), generator=rng)
    return torch.var((q * k).sum(0), unbiased=False).item()


# softmax_jacobian


def jacobian_by_delta(w: Tensor) -> Tensor:
    delta = torch.eye(w.shape[-1], dtype=w.dtype)
    return w[..., :, None] * (delta - w[..., None, :])


def jacobian_by_loops(w: Tensor) -> Tensor:
    size = w.shape[-1]
    rows = [
        torch.stack([w[..., i] * (float(i == j) - w[..., j]) for j in range(size)], dim=-1)
        for i in range(size)
    ]
    return torch.stack(rows, dim=-2)


def jacobian_by_einsum(w: Tensor) -> Tensor:
    return torch.diag_embed(w) - torch.einsum("...i,...j->...ij", w, w)


def jacobian_flattened(weights: Tensor) -> Tensor:
    flat = weights.reshape(-1, weights.shape[-1])
    tables = torch.stack([torch.diag(row) - torch.outer(row, row) for row in flat])
    return tables.reshape(*weights.shape, weights.shape[-1])


# attention_backward


def backward_with_jacobian(q, k, v, grad_out):
    scale = q.shape[-1] ** -0.5
    w = torch.softmax(q @ k.mT * scale, -1)
    dw = grad_out @ v.mT
    ds = torch.einsum("...ij,...j->...i", jacobian_by_delta(w), dw)
    return ds @ k * scale, ds.mT @ q * scale, w.mT @ grad_out


def backward_from_the_output(q, k, v, grad_out):
    """FlashAttention's form: the row sum is taken from the output."""
    scale = 1 / math.sqrt(q.size(-1))
    p = F.softmax(q @ k.transpose(-1, -2) * scale, dim=-1)
    row = (grad_out * (p @ v)).sum(-1, keepdim=True)
    ds = p * (grad_out @ v.transpose(-1, -2) - row)
    return [scale * (ds @ k), scale * (ds.transpose(-1, -2) @ q), p.transpose(-1, -2) @ grad_out]


def backward_by_einsum(q, k, v, g):
    scale = 1 / math.sqrt(q.size(-1))
    p = torch.softmax(torch.einsum("...ld,...sd->...ls", q, k) * scale, -1)
    dp = torch.einsum("...lv,...sv->...ls", g, v)
    ds = (p * dp - p * torch.einsum("...ls,...ls->...l", p, dp).unsqueeze(-1)) * scale
    dq = torch.einsum("...ls,...sd->...ld", ds, k)
    dk = torch.einsum("...ls,...ld->...sd", ds, q)
    return dq, dk, torch.einsum("...ls,...lv->...sv", p, g)


def backward_query_by_query(q, k, v, g):
    scale = q.shape[-1] ** -0.5
    dq, dk, dv = [], torch.zeros_like(k), torch.zeros_like(v)
    for i in range(q.shape[-2]):
        row, grad = q[..., i : i + 1, :], g[..., i : i + 1, :]
        w = torch.softmax(row @ k.mT * scale, -1)
        dw = grad @ v.mT
        ds = w * (dw - (w * dw).sum(-1, keepdim=True)) * scale
        dq.append(ds @ k)
        dk = dk + ds.mT @ row
        dv = dv + w.mT @ grad
    return torch.cat(dq, -2), dk, dv


partial_weights = functools.partial(weights_by_einsum)
partial_weights.__name__ = "partial_weights"

RIGHT_WAYS_CH03 = {
    "stable_softmax": (
        softmax_by_rows,
        softmax_by_logsumexp,
        softmax_of_torch_made_safe,
        softmax_with_low_numbers,
        softmax_through_float64,
    ),
    "attention_weights": (
        weights_by_einsum,
        weights_scaled_on_both_sides,
        weights_by_pairs,
        weights_by_loop_over_queries,
        partial_weights,
    ),
    "scaled_dot_product_attention": (
        attention_by_einsum,
        attention_with_minus_1e9,
        attention_repaired_after,
        attention_with_additive_bias,
        attention_by_query_chunks,
        attention_online,
        attention_module,
    ),
    "dot_product_variance": (
        variance_of_sampled_means,
        variance_one_pair_at_a_time,
        variance_around_the_known_mean,
        variance_features_first,
    ),
    "softmax_jacobian": (
        jacobian_by_delta,
        jacobian_by_loops,
        jacobian_by_einsum,
        jacobian_flattened,
    ),
    "attention_backward": (
        backward_with_jacobian,
        backward_from_the_output,
        backward_by_einsum,
        backward_query_by_query,
    ),
}
