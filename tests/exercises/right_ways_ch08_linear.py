"""Right answers to the exercises on linear attention in other styles than the reference."""

import torch
import torch.nn.functional as F


def _phi(x):
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


# linear_attention


def linear_by_einsum(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    state = torch.einsum("...sd,...sv->...dv", k, value)
    total = torch.einsum("...ld,...d->...l", q, k.sum(dim=-2))
    return torch.einsum("...ld,...dv->...lv", q, state) / total.unsqueeze(-1)


def linear_with_a_column_of_ones(query, key, value):
    ones = torch.ones_like(value[..., :1])
    state = _phi(key).transpose(-2, -1) @ torch.cat([value, ones], dim=-1)
    both = _phi(query) @ state
    return both[..., :-1] / both[..., -1:]


def linear_token_by_token(q, k, v):
    state = total = 0
    for s in range(k.shape[-2]):
        feature = _phi(k[..., s, :])
        state = state + feature.unsqueeze(-1) * v[..., s, :].unsqueeze(-2)
        total = total + feature
    rows = []
    for i in range(q.shape[-2]):
        f = _phi(q[..., i, :])
        rows.append((f.unsqueeze(-1) * state).sum(-2) / (f * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


def linear_with_normalised_features(q, k, v):
    q, k = F.elu(q).add(1), F.elu(k).add(1)
    z = 1 / (q @ k.sum(-2, keepdim=True).mT)
    return (q * z) @ (k.mT @ v)


def linear_through_float64(q, k, v):
    fq, fk, wide = F.celu(q.double()) + 1, F.celu(k.double()) + 1, v.double()
    return ((fq @ (fk.mT @ wide)) / (fq * fk.sum(-2, keepdim=True)).sum(-1, True)).to(v.dtype)


def linear_in_chunks_of_keys(q, k, v):
    q, state, total = F.elu(q) + 1, 0, 0
    for start in range(0, k.shape[-2], 32):
        part = F.elu(k[..., start : start + 32, :]) + 1
        state = state + part.mT @ v[..., start : start + 32, :]
        total = total + part.sum(-2, keepdim=True)
    return torch.matmul(q, state) / torch.matmul(q, total.mT)


# causal_linear_attention


def causal_token_by_token(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    state, total, rows = 0, 0, []
    for i in range(q.shape[-2]):
        state = state + k[..., i, :, None] * value[..., i, None, :]
        total = total + k[..., i, :]
        top = torch.einsum("...d,...dv->...v", q[..., i, :], state)
        rows.append(top / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


def _causal_in_chunks(q, k, v, size):
    q, k, rows = _phi(q), _phi(k), []
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    state = torch.zeros_like(k[..., :1, :].mT * v[..., :1, :])
    for start in range(0, q.shape[-2], size):
        a, b, c = (x[..., start : start + size, :] for x in (q, k, v))
        both = (a @ b.mT).tril() @ c + a @ state
        rows.append(both[..., :-1] / both[..., -1:])
        state = state + b.mT @ c
    return torch.cat(rows, dim=-2)


def causal_in_chunks_of_64(query, key, value):
    return _causal_in_chunks(query, key, value, 64)


def causal_in_chunks_of_16(query, key, value):
    return _causal_in_chunks(query, key, value, 16)


def causal_running_sums_in_chunks(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    state = total = None
    rows = []
    for a, b, c in zip(q.split(32, -2), k.split(32, -2), v.split(32, -2), strict=True):
        states = (b.unsqueeze(-1) * c.unsqueeze(-2)).cumsum(-3)
        totals = b.cumsum(-2)
        if state is not None:
            states, totals = states + state, totals + total
        state, total = states[..., -1:, :, :], totals[..., -1:, :]
        top = (a.unsqueeze(-2) @ states).squeeze(-2)
        rows.append(top / (a * totals).sum(-1, keepdim=True))
    return torch.cat(rows, dim=-2)


def causal_written_into_a_table(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    out = torch.zeros_like(v)
    state = v.new_zeros(*v.shape[:-2], k.shape[-1], v.shape[-1])
    total = k.cumsum(-2)
    for i in range(q.shape[-2]):
        state = state + k[..., i : i + 1, :].mT @ v[..., i : i + 1, :]
        below = (q[..., i, :] * total[..., i, :]).sum(-1, keepdim=True)
        out[..., i, :] = (q[..., i : i + 1, :] @ state).squeeze(-2) / below
    return out


def causal_query_by_query(q, k, v):
    """Each query over its own past: slow, but no tensor is large."""
    rows = []
    for i in range(q.shape[-2]):
        weights = _phi(q[..., i : i + 1, :]) @ _phi(k[..., : i + 1, :]).mT
        rows.append(weights @ v[..., : i + 1, :] / weights.sum(-1, keepdim=True))
    return torch.cat(rows, -2)


RIGHT_WAYS_LINEAR = {
    "linear_attention": (
        linear_by_einsum,
        linear_with_a_column_of_ones,
        linear_token_by_token,
        linear_with_normalised_features,
        linear_through_float64,
        linear_in_chunks_of_keys,
    ),
    "causal_linear_attention": (
        causal_token_by_token,
        causal_in_chunks_of_64,
        causal_in_chunks_of_16,
        causal_running_sums_in_chunks,
        causal_written_into_a_table,
        causal_query_by_query,
    ),
}
