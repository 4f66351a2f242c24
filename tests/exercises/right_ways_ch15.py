"""Right answers to the exercises of chapter 15 in other styles."""

import math
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F

# nadaraya_watson


def watson_by_loops(query, key, value, h):
    rows = []
    for q, k, v in zip(
        query.reshape(-1, *query.shape[-2:]),
        key.reshape(-1, *key.shape[-2:]),
        value.reshape(-1, *value.shape[-2:]),
        strict=True,
    ):
        for one in q:
            s = -((one - k) ** 2).sum(1) / (2 * h * h)
            p = torch.exp(s - s.max())
            rows.append((p[:, None] * v).sum(0) / p.sum())
    return torch.stack(rows).reshape(*query.shape[:-1], value.shape[-1])


def watson_by_torch(query, key, value, bandwidth):
    bias = -key.square().sum(-1) / (2 * bandwidth**2)
    mask = bias.unsqueeze(-2).expand(*bias.shape[:-1], query.shape[-2], key.shape[-2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1 / bandwidth**2)


def watson_by_cdist(q, k, v, h):
    return torch.softmax(-(torch.cdist(q, k) ** 2) / (2 * h**2), dim=-1) @ v


def watson_by_the_square(q, k, v, h):
    squares = (q**2).sum(-1)[..., :, None] + (k**2).sum(-1)[..., None, :]
    d2 = squares - 2 * torch.einsum("...ld,...sd->...ls", q, k)
    return torch.einsum("...ls,...sv->...lv", F.softmax(-0.5 * d2 / h**2, dim=-1), v)


def watson_shifted_by_the_nearest(q, k, v, h):
    z = (q.unsqueeze(-2) - k.unsqueeze(-3)) / h
    e = -0.5 * (z * z).sum(-1)
    w = (e - e.max(-1, keepdim=True).values).exp()
    return (w @ v) / w.sum(-1, keepdim=True)


def watson_by_logsumexp(q, k, v, h):
    """Leaves out what is the same for all keys."""
    logits = (q @ k.mT - 0.5 * k.pow(2).sum(-1, keepdim=True).mT) / h**2
    return (logits - logits.logsumexp(-1, keepdim=True)).exp() @ v


def watson_by_a_normal_density(q, k, v, h):
    scale = torch.tensor(float(h), dtype=q.dtype)
    density = torch.distributions.Normal(k.unsqueeze(-3), scale, validate_args=False)
    return density.log_prob(q.unsqueeze(-2)).sum(-1).softmax(-1) @ v


# hopfield_update


def hopfield_by_torch(state, patterns, beta):
    query = state.reshape(-1, state.shape[-1])
    out = F.scaled_dot_product_attention(query, patterns, patterns, scale=float(beta))
    return out.reshape(state.shape)


def hopfield_pattern_by_pattern(state, patterns, beta):
    scores = torch.stack([beta * (state * x).sum(-1) for x in patterns], -1)
    shares = (scores - scores.max(-1, keepdim=True)[0]).exp()
    shares = shares / shares.sum(-1, keepdim=True)
    return sum(shares[..., i : i + 1] * x for i, x in enumerate(patterns))


def hopfield_by_einsum(xi, X, beta):
    p = torch.softmax(beta * torch.einsum("nd,...d->...n", X, xi), dim=-1)
    return torch.einsum("...n,nd->...d", p, X)


def hopfield_with_columns(state, patterns, beta):
    """As the paper writes it: patterns and states are columns."""
    X = patterns.T
    xi = state.reshape(-1, state.shape[-1]).T
    return (X @ torch.softmax(beta * X.T @ xi, dim=0)).T.reshape(state.shape)


def hopfield_by_linear(state, patterns, beta):
    return F.linear(F.softmax(F.linear(beta * state, patterns), dim=-1), patterns.T)


def hopfield_by_matmul(state, patterns, beta):
    scores = torch.matmul(patterns, state.unsqueeze(-1)).squeeze(-1)
    weights = (beta * scores).log_softmax(-1).exp()
    return (weights.unsqueeze(-1) * patterns).sum(dim=-2)


# hopfield_energy


def energy_term_by_term(state, patterns, beta):
    s = beta * (state @ patterns.T)
    top = s.max(-1, keepdim=True).values
    lse = (s - top).exp().sum(-1).log() + top.squeeze(-1)
    M = patterns.norm(dim=1).max()
    own = (state * state).sum(-1)
    return -lse / beta + 0.5 * own + math.log(len(patterns)) / beta + 0.5 * M**2


def energy_by_a_mean(state, patterns, beta):
    """ln N is taken into the logarithm: it makes a mean of the sum."""
    n = patterns.shape[0]
    lse = torch.logsumexp(beta * state @ patterns.mT - math.log(n), dim=-1)
    largest = torch.linalg.vector_norm(patterns, dim=-1).amax()
    return (state.pow(2).sum(-1) + largest.square()) / 2 - lse / beta


def energy_state_by_state(state, patterns, beta):
    found = []
    M2 = torch.stack([x.dot(x) for x in patterns]).max()
    for xi in state.reshape(-1, state.shape[-1]):
        match = torch.stack([beta * x.dot(xi) for x in patterns]).logsumexp(0)
        constants = math.log(patterns.size(0)) / beta + 0.5 * M2
        found.append(-match / beta + 0.5 * xi.dot(xi) + constants)
    return torch.stack(found).reshape(state.shape[:-1])


def energy_by_logaddexp(state, patterns, beta):
    scores = torch.einsum("...d,nd->n...", state, patterns) * beta
    total = scores[0]
    for one in scores[1:]:
        total = torch.logaddexp(total, one)
    number = torch.tensor(float(patterns.shape[0]), dtype=state.dtype)
    rest = number.log() / beta + torch.einsum("nd,nd->n", patterns, patterns).max() / 2
    return torch.einsum("...d,...d->...", state, state) / 2 - total / beta + rest


# linear_attention_step


def step_by_einsum(S, z, q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    S = S + torch.einsum("...k,...v->...kv", k, v)
    z = z + k
    top = torch.einsum("...k,...kv->...v", q, S)
    return S, z, top / torch.einsum("...k,...k->...", q, z).unsqueeze(-1)


def step_by_where(S, z, q, k, v):
    def phi(x):
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    S = S + phi(k)[..., :, None] * v[..., None, :]
    z = z + phi(k)
    return S, z, (phi(q)[..., None] * S).sum(-2) / (phi(q) * z).sum(-1, keepdim=True)


def step_with_ones_in_the_values(S, z, q, k, v):
    """The normaliser is one more column of the state."""
    both = torch.cat([S, z.unsqueeze(-1)], -1)
    values = torch.cat([v, torch.ones_like(v[..., :1])], -1)
    both = both + torch.matmul((F.elu(k) + 1).unsqueeze(-1), values.unsqueeze(-2))
    read = torch.matmul((F.elu(q) + 1).unsqueeze(-2), both).squeeze(-2)
    return [both[..., :-1], both[..., -1], read[..., :-1] / read[..., -1:]]


def step_on_copies(state, normaliser, query, key, value):
    state, normaliser = state.clone(), normaliser.clone()
    far = torch.nn.functional.elu(key).add(1)
    state += far.unsqueeze(-1) * value.unsqueeze(-2)
    normaliser += far
    near = torch.nn.functional.elu(query).add(1)
    weights = near / (near * normaliser).sum(-1, keepdim=True)
    return state, normaliser, (weights.unsqueeze(-2) @ state).squeeze(-2)


def step_member_by_member(state, normaliser, query, key, value):
    if query.dim() > 1:
        inputs = (state, normaliser, query, key, value)
        parts = [step_member_by_member(*each) for each in zip(*inputs, strict=True)]
        return tuple(torch.stack(part) for part in zip(*parts, strict=True))
    far = F.elu(key) + 1
    state, normaliser = state + torch.outer(far, value), normaliser + far
    near = F.elu(query) + 1
    return state, normaliser, near @ state / near.dot(normaliser)


# rank_one_distance


def distance_by_sums(x):
    res = x - x.mean(dim=-2, keepdim=True)
    above, below = (res**2).sum((-1, -2)), (x**2).sum((-1, -2))
    zero = below == 0
    alike = above == 0
    root = torch.where(zero | alike, 1.0, above / torch.where(zero, 1.0, below)).sqrt()
    return torch.where(zero | alike, 0.0, root)


def distance_by_matrix_norm(x):
    mean = x.sum(-2, keepdim=True) / x.shape[-2]
    length = torch.linalg.matrix_norm(x)
    apart = torch.linalg.matrix_norm(x - mean)
    return torch.where(
        length > 0,
        apart / length.clamp(min=1e-300 if x.dtype == torch.float64 else 1e-30),
        0 * length,
    )


def distance_by_flattening(x):
    apart = (x - x.mean(-2, keepdim=True)).flatten(-2).norm(dim=-1)
    return apart / x.flatten(-2).norm(dim=-1).clamp_min(1e-12)


def distance_with_a_centring_matrix(x):
    length = x.shape[-2]
    centre = torch.eye(length, dtype=x.dtype) - torch.full(
        (length, length), 1 / length, dtype=x.dtype
    )
    left = torch.linalg.norm(centre @ x, dim=(-2, -1))
    size = torch.linalg.norm(x, dim=(-2, -1))
    return left / (size + (size == 0))


def distance_one_by_one(x):
    if x.dim() > 2:
        return torch.stack([distance_one_by_one(one) for one in x])
    size = x.pow(2).sum().sqrt()
    if size == 0:
        return size * 0
    return torch.stack([row - x.mean(0) for row in x]).norm() / size


def distance_by_numpy(x):
    numbers = x.numpy()
    rest = np.linalg.norm(numbers - numbers.mean(-2, keepdims=True), axis=(-2, -1))
    size = np.linalg.norm(numbers, axis=(-2, -1))
    return torch.from_numpy(np.asarray(rest / np.where(size == 0, 1, size))).to(x.dtype)


# residual_attention_backward


def residual_by_einsum(x, W_q, W_k, W_v, g):
    scale = W_q.shape[1] ** -0.5
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    p = torch.softmax(torch.einsum("bik,bjk->bij", q, k) * scale, dim=-1)
    dp = torch.einsum("bid,bjd->bij", g, v)
    ds = p * (dp - torch.einsum("bij,bij->bi", p, dp).unsqueeze(-1)) * scale
    dq, dk = torch.einsum("bij,bjk->bik", ds, k), torch.einsum("bij,bik->bjk", ds, q)
    dv = torch.einsum("bij,bid->bjd", p, g)
    return g + torch.einsum(
        "bid,ed->bie", torch.cat([dq, dk, dv], -1), torch.cat([W_q, W_k, W_v], -1)
    )


def residual_by_one_form(x, W_q, W_k, W_v, g):
    """Queries and keys meet in one bilinear form A = W_q W_kᵀ, so that scores are x A xᵀ."""
    A = W_q @ W_k.T / math.sqrt(W_q.shape[1])
    p = (x @ A @ x.transpose(1, 2)).softmax(-1)
    inner = g @ (x @ W_v).transpose(1, 2)
    ds = p * inner - p * (p * inner).sum(-1, keepdim=True)
    return g + ds @ x @ A.T + ds.transpose(1, 2) @ x @ A + p.transpose(1, 2) @ g @ W_v.T


def residual_row_by_row(x, W_q, W_k, W_v, g):
    out = []
    for xb, gb in zip(x, g, strict=True):
        q, k, v = xb @ W_q, xb @ W_k, xb @ W_v
        grad = gb.clone()
        for i in range(len(xb)):
            w = torch.softmax(k @ q[i] / math.sqrt(q.shape[-1]), 0)
            jacobian = torch.diag(w) - torch.outer(w, w)
            ds = jacobian @ (v @ gb[i]) / math.sqrt(q.shape[-1])
            grad[i] = grad[i] + W_q @ (k.T @ ds)
            grad = grad + torch.outer(ds, W_k @ q[i]) + torch.outer(w, W_v @ gb[i])
        out.append(grad)
    return torch.stack(out)


def residual_from_attention_backward(x, W_q, W_k, W_v, grad_out):
    """Calls the answer of chapter 03."""
    grads = backward_of_attention(x @ W_q, x @ W_k, x @ W_v, grad_out)
    weights = (W_q, W_k, W_v)
    return grad_out + sum(grad @ W.T for grad, W in zip(grads, weights, strict=True))


def backward_of_attention(q, k, v, g):
    root = math.sqrt(q.size(-1))
    w = F.softmax(q @ k.transpose(-2, -1) / root, dim=-1)
    out = w @ v
    ds = w * (g @ v.transpose(-2, -1) - (g * out).sum(-1, keepdim=True)) / root
    return ds @ k, ds.transpose(-2, -1) @ q, w.transpose(-2, -1) @ g


# induction_prediction


def induction_by_counters(tokens, num_symbols):
    out = torch.zeros(*tokens.shape, num_symbols)
    for b, row in enumerate(tokens.tolist()):
        for i, token in enumerate(row):
            found = Counter(row[j + 1] for j in range(i) if row[j] == token)
            for symbol, count in found.items():
                out[b, i, symbol] = count / found.total()
    return out


def induction_by_a_running_table(tokens, num_symbols):
    """One table of bigrams, read before the next pair is added."""
    B, L = tokens.shape
    counts = torch.zeros(B, num_symbols, num_symbols)
    every, rows = torch.arange(B), []
    for i in range(L):
        if i:
            counts[every, tokens[:, i - 1], tokens[:, i]] += 1
        row = counts[every, tokens[:, i]]
        rows.append(row / row.sum(-1, keepdim=True).clamp(min=1))
    return torch.stack(rows, 1)


def induction_by_two_layers(tokens, num_symbols):
    """Each key is the token before, each value the token itself."""
    x = F.one_hot(tokens, num_symbols).to(torch.get_default_dtype())
    before = F.pad(x, (0, 0, 1, 0))[:, :-1]
    scores = x @ before.mT
    seen = torch.ones(tokens.shape[1], tokens.shape[1]).tril().bool() & (scores > 0)
    weights = torch.softmax(torch.where(seen, 0.0, -torch.inf), -1).nan_to_num(0.0)
    return weights @ x


def induction_by_slices(tokens, num_symbols):
    B, L = tokens.shape
    out = torch.zeros(B, L, num_symbols)
    follower = torch.nn.functional.one_hot(tokens[:, 1:], num_symbols).float()
    for i in range(1, L):
        same = (tokens[:, :i] == tokens[:, i : i + 1]).float()
        n = same.sum(1, keepdim=True)
        out[:, i] = torch.einsum("bj,bjv->bv", same, follower[:, :i]) / torch.where(n > 0, n, 1.0)
    return out


def induction_by_sdpa(tokens, num_symbols):
    L = tokens.shape[1]
    match = (tokens[:, :, None] == tokens[:, None, :]) & torch.ones(L, L).tril(-1).bool()
    nothing = ~match.any(-1, keepdim=True)
    next_one = torch.cat([tokens[:, 1:], tokens[:, :1]], 1)
    values = F.one_hot(next_one, num_symbols).to(torch.get_default_dtype())
    zeros = torch.zeros(len(tokens), L, 1)
    out = F.scaled_dot_product_attention(zeros, zeros, values, attn_mask=match | nothing)
    return out.masked_fill(nothing, 0.0)


RIGHT_WAYS_CH15 = {
    "nadaraya_watson": (
        watson_by_loops,
        watson_by_torch,
        watson_by_cdist,
        watson_by_the_square,
        watson_shifted_by_the_nearest,
        watson_by_logsumexp,
        watson_by_a_normal_density,
    ),
    "hopfield_update": (
        hopfield_by_torch,
        hopfield_pattern_by_pattern,
        hopfield_by_einsum,
        hopfield_with_columns,
        hopfield_by_linear,
        hopfield_by_matmul,
    ),
    "hopfield_energy": (
        energy_term_by_term,
        energy_by_a_mean,
        energy_state_by_state,
        energy_by_logaddexp,
    ),
    "linear_attention_step": (
        step_by_einsum,
        step_by_where,
        step_with_ones_in_the_values,
        step_on_copies,
        step_member_by_member,
    ),
    "rank_one_distance": (
        distance_by_sums,
        distance_by_matrix_norm,
        distance_by_flattening,
        distance_with_a_centring_matrix,
        distance_one_by_one,
        distance_by_numpy,
    ),
    "residual_attention_backward": (
        residual_by_einsum,
        residual_by_one_form,
        residual_row_by_row,
        residual_from_attention_backward,
    ),
    "induction_prediction": (
        induction_by_counters,
        induction_by_a_running_table,
        induction_by_two_layers,
        induction_by_slices,
        induction_by_sdpa,
    ),
}
