"""Right answers to the exercises of chapter 02 that come after the scores."""

import math

import torch
import torch.nn.functional as F

INF = torch.inf


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


RIGHT_WAYS_WEIGHTS = {
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
        flops_as_tensors,
        flops_by_flag_arithmetic,
        flops_rounded_from_float,
    ),
}
