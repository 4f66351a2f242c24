"""Right answers to the exercises of chapter 02 in other styles than the reference."""

import math

import torch
import torch.nn.functional as F

INF = torch.inf

# additive_score


def additive_by_loop_over_queries(query, key, W_q, W_k, v):
    projected = key @ W_k
    rows = []
    for i in range(query.shape[1]):
        rows.append(torch.tanh((query[:, i] @ W_q).unsqueeze(1) + projected) @ v)
    return torch.stack(rows, dim=1)


def additive_by_einsum(q, k, W_q, W_k, v):
    hidden = (
        torch.einsum("bld,da->bla", q, W_q)[:, :, None]
        + torch.einsum("bsd,da->bsa", k, W_k)[:, None]
    )
    return torch.einsum("blsa,a->bls", hidden.tanh(), v)


def additive_by_linear(q, k, W_q, W_k, v):
    hidden = F.linear(q, W_q.T).unsqueeze(2) + F.linear(k, W_k.T).unsqueeze(1)
    return F.linear(torch.tanh(hidden), v.unsqueeze(0)).squeeze(-1)


def additive_by_expanded_projections(q, k, W_q, W_k, v):
    num_queries, num_keys = q.size(1), k.size(1)
    left = (q @ W_q).unsqueeze(2).repeat(1, 1, num_keys, 1)
    right = (k @ W_k).unsqueeze(1).expand(-1, num_queries, -1, -1)
    return (torch.tanh(left + right) * v).sum(dim=-1)


def additive_pair_by_pair(q, k, W_q, W_k, v):
    pq, pk = q @ W_q, k @ W_k
    return torch.stack(
        [
            torch.stack([torch.stack([torch.tanh(a + c) @ v for c in keys]) for a in queries])
            for queries, keys in zip(pq, pk, strict=True)
        ]
    )


def additive_by_repeats(q, k, W_q, W_k, v):
    (batch, num_queries, _), num_keys = q.shape, k.shape[1]
    left = (q @ W_q).repeat_interleave(num_keys, dim=1)
    right = (k @ W_k).repeat(1, num_queries, 1)
    return (torch.tanh(left + right) @ v.unsqueeze(-1)).view(batch, num_queries, num_keys)


def additive_sequence_by_sequence(q, k, W_q, W_k, v):
    out = [torch.tanh((a @ W_q)[:, None] + (c @ W_k)[None]) @ v for a, c in zip(q, k, strict=True)]
    return torch.stack(out)


def additive_through_exponentials(q, k, W_q, W_k, v):
    hidden = (q @ W_q)[:, :, None, :] + (k @ W_k)[:, None, :, :]
    return (2 * torch.sigmoid(2 * hidden) - 1).matmul(v)


# dot_score


def dot_by_bmm(q, k):
    return torch.bmm(q, k.transpose(1, 2))


def dot_by_einsum(q, k):
    return torch.einsum("bld,bsd->bls", q, k)


def dot_by_broadcasting(q, k):
    return (q[:, :, None, :] * k[:, None, :, :]).sum(-1)


def dot_by_keys(q, k):
    return torch.stack([(q * k[:, s : s + 1]).sum(-1) for s in range(k.shape[1])], dim=-1)


def dot_turned(q, k):
    return (k @ q.mT).mT


def dot_by_sequences(q, k):
    return torch.stack([a @ c.T for a, c in zip(q, k, strict=True)])


# general_score


def general_keys_projected(q, k, W):
    return q @ (k @ W.T).mT


def general_by_einsum(q, k, W):
    return torch.einsum("bld,de,bse->bls", q, W, k)


def general_by_linear(q, k, W):
    return torch.bmm(F.linear(q, W.t()), k.transpose(-1, -2))


def general_by_broadcasting(q, k, W):
    return ((q @ W).unsqueeze(2) * k.unsqueeze(1)).sum(-1)


def general_pair_by_pair(q, k, W):
    rows = [
        [[a @ W @ c for c in keys] for a in queries] for queries, keys in zip(q, k, strict=True)
    ]
    return torch.stack([torch.stack([torch.stack(row) for row in table]) for table in rows])


def general_by_torch_bilinear(q, k, W):
    shape = (*q.shape[:2], k.shape[1])
    left = q.unsqueeze(2).expand(*shape, -1).contiguous()
    right = k.unsqueeze(1).expand(*shape, -1).contiguous()
    return F.bilinear(left, right, W.unsqueeze(0)).squeeze(-1)


# concat_score


def concat_by_cat(q, k, W, v):
    shape = (*q.shape[:2], k.shape[1])
    pairs = torch.cat(
        [q.unsqueeze(2).expand(*shape, -1), k.unsqueeze(1).expand(*shape, -1)], dim=-1
    )
    return torch.tanh(pairs @ W) @ v


def concat_by_repeats(q, k, W, v):
    (batch, num_queries, _), num_keys = q.shape, k.shape[1]
    pairs = torch.cat([q.repeat_interleave(num_keys, 1), k.repeat(1, num_queries, 1)], dim=2)
    return torch.tanh(pairs @ W).matmul(v).reshape(batch, num_queries, num_keys)


def concat_by_splitting(q, k, W, v):
    upper, lower = W[: q.shape[-1]], W[q.shape[-1] :]
    return torch.tanh((q @ upper).unsqueeze(2) + (k @ lower).unsqueeze(1)) @ v


def concat_query_by_query(q, k, W, v):
    rows = []
    for i in range(q.size(1)):
        asked = q[:, i : i + 1].expand(-1, k.size(1), -1)
        rows.append((torch.cat((asked, k), -1).matmul(W).tanh() * v).sum(-1))
    return torch.stack(rows, 1)


def concat_pair_by_pair(q, k, W, v):
    return torch.stack(
        [
            torch.stack(
                [
                    torch.stack([torch.tanh(torch.cat([a, c]) @ W) @ v for c in keys])
                    for a in queries
                ]
            )
            for queries, keys in zip(q, k, strict=True)
        ]
    )


def concat_by_linear(q, k, W, v):
    shape = (*q.shape[:2], k.shape[1])
    pairs = torch.cat([q[:, :, None].expand(*shape, -1), k[:, None].expand(*shape, -1)], 3)
    return F.linear(F.linear(pairs, W.T).tanh(), v[None]).squeeze(3)


# attend


def attend_with_minus_1e9(scores, value, key_mask):
    mask = key_mask.unsqueeze(1)
    weights = torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1)
    weights = weights * key_mask.any(-1)[:, None, None]
    return weights @ value, weights


def attend_repaired_after(scores, value, key_mask):
    """NaN of an empty row replaced afterwards: masked_fill stops its gradient, so it is right."""
    weights = F.softmax(scores.masked_fill(~key_mask[:, None, :], -INF), dim=-1).nan_to_num()
    return torch.bmm(weights, value), weights


def attend_with_safe_rows(scores, value, key_mask):
    mask = key_mask.unsqueeze(1).expand_as(scores)
    empty = ~mask.any(-1, keepdim=True)
    safe = torch.where(mask | empty, scores, torch.tensor(-INF, dtype=scores.dtype))
    weights = torch.softmax(safe, -1).masked_fill(empty, 0.0)
    return torch.einsum("bls,bsd->bld", weights, value), weights


def attend_by_hand(scores, value, key_mask):
    mask = key_mask.unsqueeze(1)
    top = scores.masked_fill(~mask, -1e30).amax(-1, keepdim=True)
    powers = torch.where(mask, torch.exp(torch.where(mask, scores - top, 0.0)), 0.0)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)
    return [weights @ value, weights]


def attend_sequence_by_sequence(scores, value, key_mask):
    contexts, tables = [], []
    for s, v, m in zip(scores, value, key_mask, strict=True):
        weights = torch.zeros_like(s)
        if m.any():
            weights[:, m] = torch.softmax(s[:, m], dim=-1)
        contexts.append(weights @ v)
        tables.append(weights)
    return torch.stack(contexts), torch.stack(tables)


def attend_masked_before_and_after(scores, value, key_mask):
    mask = key_mask[:, None, :]
    low = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(low, -1) * mask
    return (weights.unsqueeze(-1) * value.unsqueeze(1)).sum(2), weights


# local_predictive_weights


def local_by_where(scores, centre, sigma):
    s = torch.arange(scores.size(-1))
    distance = s[None, None, :] - centre[:, :, None]
    return torch.softmax(scores, dim=-1) * torch.exp(-(distance**2) / (2 * sigma**2))


def local_by_loop(scores, centre, sigma):
    weights = F.softmax(scores, -1)
    columns = [
        weights[..., s] * torch.exp(-((s - centre) ** 2) / (2 * sigma * sigma))
        for s in range(scores.shape[-1])
    ]
    return torch.stack(columns, dim=-1)


def local_through_logarithms(scores, centre, sigma):
    positions = torch.arange(scores.shape[-1], dtype=scores.dtype)
    fade = -0.5 * ((positions - centre[..., None]) / sigma).square()
    return torch.exp(F.log_softmax(scores, dim=-1) + fade)


def local_by_normal_density(scores, centre, sigma):
    positions = torch.arange(scores.shape[-1], dtype=scores.dtype)
    normal = torch.distributions.Normal(centre.unsqueeze(-1), float(sigma))
    factor = normal.log_prob(positions).exp() * sigma * math.sqrt(2 * math.pi)
    return scores.softmax(-1) * factor


def local_by_grid(scores, centre, sigma):
    grid = torch.ones_like(scores).cumsum(-1) - 1
    return torch.mul(
        torch.softmax(scores, 2), (-(grid - centre.unsqueeze(2)).pow(2) / 2 / sigma**2).exp()
    )


# additive_flops


def flops_by_cases(num_queries, num_keys, d_q, d_k, d_a, precompute):
    pairs = num_queries * num_keys
    if precompute:
        return 2 * d_a * (num_queries * d_q + num_keys * d_k) + pairs * 4 * d_a
    return pairs * (2 * d_q * d_a + 2 * d_k * d_a + d_a + d_a + 2 * d_a)


def flops_by_loops(L, S, d_q, d_k, d_a, precompute=True):
    total = 0
    if precompute:
        total += sum(2 * d_q * d_a for _ in range(L)) + sum(2 * d_k * d_a for _ in range(S))
    pair = 4 * d_a if precompute else 2 * (d_q + d_k) * d_a + 4 * d_a
    for _ in range(L):
        total += S * pair
    return total


def flops_as_tensors(L, S, d_q, d_k, d_a, precompute):
    q, k = torch.tensor([L, S], dtype=torch.long) if precompute else torch.tensor([L * S, L * S])
    return int((q * d_q + k * d_k) * 2 * d_a + L * S * 4 * d_a)


def flops_by_flag_arithmetic(L, S, d_q, d_k, d_a, precompute):
    times_q = L * (1 if precompute else S)
    times_k = S * (1 if precompute else L)
    return 2 * times_q * d_q * d_a + 2 * times_k * d_k * d_a + L * S * d_a * (1 + 1 + 2)


def flops_rounded_from_float(L, S, d_q, d_k, d_a, precompute):
    projections = (
        (d_q * d_a * 2 * L + d_k * d_a * 2 * S) if precompute else (d_q + d_k) * d_a * 2 * L * S
    )
    return round(projections + 4.0 * L * S * d_a)


def flops_by_counting(L, S, d_q, d_k, d_a, precompute):
    """Count one operation after the other, in plain loops."""

    def projected(d_in):
        count = 0
        for _ in range(d_a):
            for _ in range(d_in):
                count += 1  # a multiplication
                count += 1  # an addition
        return count

    count = 0
    if precompute:
        for _ in range(L):
            count += projected(d_q)
        for _ in range(S):
            count += projected(d_k)
    for _ in range(L):
        for _ in range(S):
            if not precompute:
                count += projected(d_q) + projected(d_k)
            for _ in range(d_a):
                count += 1 + 1 + 2
    return count


RIGHT_WAYS_CH02 = {
    "additive_score": (
        additive_by_loop_over_queries,
        additive_by_einsum,
        additive_by_linear,
        additive_by_expanded_projections,
        additive_pair_by_pair,
        additive_by_repeats,
        additive_sequence_by_sequence,
        additive_through_exponentials,
    ),
    "dot_score": (
        dot_by_bmm,
        dot_by_einsum,
        dot_by_broadcasting,
        dot_by_keys,
        dot_turned,
        dot_by_sequences,
    ),
    "general_score": (
        general_keys_projected,
        general_by_einsum,
        general_by_linear,
        general_by_broadcasting,
        general_pair_by_pair,
        general_by_torch_bilinear,
    ),
    "concat_score": (
        concat_by_cat,
        concat_by_repeats,
        concat_by_splitting,
        concat_query_by_query,
        concat_pair_by_pair,
        concat_by_linear,
    ),
    "attend": (
        attend_with_minus_1e9,
        attend_repaired_after,
        attend_with_safe_rows,
        attend_by_hand,
        attend_sequence_by_sequence,
        attend_masked_before_and_after,
    ),
    "local_predictive_weights": (
        local_by_where,
        local_by_loop,
        local_through_logarithms,
        local_by_normal_density,
        local_by_grid,
    ),
    "additive_flops": (
        flops_by_cases,
        flops_by_loops,
        flops_by_counting,
        flops_as_tensors,
        flops_by_flag_arithmetic,
        flops_rounded_from_float,
    ),
}
