"""Right answers to the last four exercises of chapter 08 in other styles than the reference."""

import math

import torch
import torch.nn.functional as F

# linformer_attention


def linformer_by_einsum(q, k, v, E, F):
    keys, values = torch.einsum("sr,...sd->...rd", E, k), torch.einsum("sr,...sd->...rd", F, v)
    scores = torch.einsum("...ld,...rd->...lr", q, keys) / math.sqrt(q.size(-1))
    return torch.einsum("...lr,...rv->...lv", torch.softmax(scores, -1), values)


def linformer_transposed(q, k, v, E, F):
    scores = q @ (k.mT @ E) * q.shape[-1] ** -0.5
    return scores.softmax(-1) @ (v.mT @ F).mT


def linformer_query_by_query(query, key, value, E, F):
    k, v = E.T @ key, F.T @ value
    rows = []
    for i in range(query.shape[-2]):
        scores = (query[..., i : i + 1, :] * k).sum(-1) / query.shape[-1] ** 0.5
        rows.append((scores.softmax(-1).unsqueeze(-1) * v).sum(-2))
    return torch.stack(rows, dim=-2)


def linformer_key_by_key(query, key, value, E, F):
    k = sum(E[s].unsqueeze(-1) * key[..., s : s + 1, :] for s in range(key.shape[-2]))
    v = sum(F[s].unsqueeze(-1) * value[..., s : s + 1, :] for s in range(key.shape[-2]))
    scores = query @ k.mT / math.sqrt(query.shape[-1])
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(-1, keepdim=True)) @ v


def linformer_by_linear(q, k, v, E, F):
    keys = torch.nn.functional.linear(k.transpose(-1, -2), E.t())
    values = torch.nn.functional.linear(v.transpose(-1, -2), F.t()).transpose(-1, -2)
    return torch.softmax((q / q.shape[-1] ** 0.5) @ keys, dim=-1) @ values


# lsh_buckets


def buckets_with_rotations_doubled(x, rotations):
    return (x @ torch.cat([rotations, -rotations], dim=1)).argmax(-1)


def buckets_by_max(x, R):
    y = torch.einsum("...d,dh->...h", x, R)
    return torch.max(torch.cat([y, y.neg()], dim=-1), dim=-1).indices


def buckets_by_two_halves(x, R):
    y = x @ R
    high, low = y.max(-1), (-y).max(-1)
    return torch.where(high.values >= low.values, high.indices, low.indices + R.shape[1])


def buckets_by_loops(x, R):
    rows = (x.reshape(-1, x.shape[-1]) @ R).tolist()
    found = []
    for row in rows:
        both = row + [-y for y in row]
        found.append(both.index(max(both)))
    return torch.tensor(found).reshape(x.shape[:-1])


def buckets_of_unit_vectors(x, R):
    y = F.normalize(x, dim=-1) @ R
    rounded = torch.cat((y, -y), -1).double().mul(1e9).round()
    return rounded.argmax(dim=-1)


# cross_covariance_attention


def xca_by_normalize(query, key, value, temperature):
    q, k = F.normalize(query, dim=-2), F.normalize(key, dim=-2)
    weights = (q.transpose(-2, -1) @ k * temperature).softmax(dim=-1)
    return (weights @ value.transpose(-2, -1)).transpose(-2, -1)


def xca_by_einsum(q, k, v, temperature):
    q = q / torch.linalg.vector_norm(q, dim=2, keepdim=True)
    k = k / torch.linalg.vector_norm(k, dim=2, keepdim=True)
    w = torch.softmax(torch.einsum("bhli,bhlj->bhij", q, k) * temperature, dim=3)
    return torch.einsum("bhij,bhlj->bhli", w, v)


def xca_as_in_the_code_of_xcit(q, k, v, temperature):
    q, k, v = (x.transpose(-2, -1) for x in (q, k, v))
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    attn = (q @ k.transpose(-2, -1)) * temperature
    return (attn.softmax(dim=-1) @ v).permute(0, 1, 3, 2)


def xca_divided_afterwards(q, k, v, temperature):
    lengths = q.square().sum(-2).sqrt().unsqueeze(-1) * k.square().sum(-2).sqrt().unsqueeze(-2)
    weights = torch.softmax(temperature * (q.mT @ k) / lengths, -1)
    return v @ weights.mT


def xca_head_by_head(q, k, v, temperature):
    heads = []
    for h in range(q.shape[1]):
        t = temperature[h] if isinstance(temperature, torch.Tensor) else temperature
        a, b = (x[:, h] / x[:, h].norm(dim=1, keepdim=True) for x in (q, k))
        heads.append(v[:, h] @ torch.softmax(a.mT @ b * t, -1).mT)
    return torch.stack(heads, 1)


# positive_random_features


def features_by_einsum(x, projection):
    m, d = projection.shape
    scaled = x * d**-0.25
    along = torch.einsum("...ld,md->...lm", scaled, projection)
    return torch.exp(along - (scaled**2).sum(-1, keepdim=True) / 2) / math.sqrt(m)


def features_as_two_factors(x, projection):
    scaled = x / x.shape[-1] ** 0.25
    along = (scaled @ projection.T).exp()
    lengths = torch.exp(-scaled.norm(dim=-1, keepdim=True).pow(2) / 2)
    return along * lengths * projection.shape[0] ** -0.5


def features_with_the_root_inside(x, projection):
    d = x.shape[-1]
    norm = x.pow(2).sum(-1, keepdim=True) / (2 * math.sqrt(d))
    return torch.exp(x @ projection.mT / d**0.25 - norm - 0.5 * math.log(projection.shape[0]))


def features_one_by_one(x, projection):
    y = x / math.sqrt(math.sqrt(x.shape[-1]))
    half = 0.5 * (y * y).sum(-1)
    columns = [torch.exp((y * w).sum(-1) - half) for w in projection]
    return torch.stack(columns, dim=-1) / math.sqrt(len(projection))


def features_by_linear(x, projection):
    y = x.div(x.size(-1) ** 0.25)
    return (
        F.linear(y, projection)
        .sub(y.square().sum(-1, True).mul(0.5))
        .exp()
        .div(len(projection) ** 0.5)
    )


RIGHT_WAYS_REDUCED = {
    "linformer_attention": (
        linformer_by_einsum,
        linformer_transposed,
        linformer_query_by_query,
        linformer_key_by_key,
        linformer_by_linear,
    ),
    "lsh_buckets": (
        buckets_with_rotations_doubled,
        buckets_by_max,
        buckets_by_two_halves,
        buckets_by_loops,
        buckets_of_unit_vectors,
    ),
    "cross_covariance_attention": (
        xca_by_normalize,
        xca_by_einsum,
        xca_as_in_the_code_of_xcit,
        xca_divided_afterwards,
        xca_head_by_head,
    ),
    "positive_random_features": (
        features_by_einsum,
        features_as_two_factors,
        features_with_the_root_inside,
        features_one_by_one,
        features_by_linear,
    ),
}
