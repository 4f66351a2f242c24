"""Right answers to the exercises of chapter 04 in other styles than the reference."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.right_ways_ch04_counts import RIGHT_WAYS_COUNTS
from tests.exercises.right_ways_ch04_projections import RIGHT_WAYS_PROJECTIONS

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
    **RIGHT_WAYS_COUNTS,
    **RIGHT_WAYS_PROJECTIONS,
}
