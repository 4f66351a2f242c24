"""Right answers to the exercises of chapter 17 in other styles."""

import math

import torch
import torch.nn.functional as F

# wkv_step


def wkv_by_logarithms(key, value, decay, bonus, state):
    a, b, p = state
    total = torch.logaddexp(p + b.log(), bonus + key)
    out = torch.exp(p - total) * a + torch.exp(bonus + key - total) * value
    top = torch.where(p - decay > key, p - decay, key)
    old, new = torch.exp(p - decay - top), torch.exp(key - top)
    return out, (a * old + new * value, b * old + new, top)


def wkv_by_softmax(key, value, decay, bonus, state):
    """The past is one more item, whose weight is e^top times the denominator."""
    num, den, top = state
    logits = torch.stack([top, bonus + key])
    share = (logits - logits.amax(0)).exp()
    out = (share[0] * num + share[1] * value) / (share[0] * den + share[1])
    logits = torch.stack([top - decay, key])
    new = logits.max(0).values
    share = (logits - new).exp()
    return out, [share[0] * num + share[1] * value, share[0] * den + share[1], new]


def wkv_as_its_authors(k, v, w, u, state):
    aa, bb, pp = state
    ww = u + k
    qq = torch.maximum(pp, ww).detach()
    e1, e2 = torch.exp(pp - qq), torch.exp(ww - qq)
    y = (e1 * aa + e2 * v) / (e1 * bb + e2)
    ww = pp - w
    qq = torch.maximum(ww, k)
    e1, e2 = torch.exp(ww - qq), torch.exp(k - qq)
    return y, (e1 * aa + e2 * v, e1 * bb + e2, qq)


def wkv_with_tops_as_constants(key, value, decay, bonus, state):
    """A maximum only keeps numbers small: no gradient need go through it."""
    num, den, top = state
    read = torch.maximum(top, key + bonus).detach()
    past, now = torch.exp(top - read), torch.exp(key + bonus - read)
    out = (past * num + now * value) / (past * den + now)
    kept = torch.maximum(top - decay, key).detach()
    past, now = torch.exp(top - decay - kept), torch.exp(key - kept)
    return out, (past * num + now * value, past * den + now, kept)


def wkv_channel_by_channel(key, value, decay, bonus, state):
    columns = []
    for i in range(key.shape[1]):
        a, b, p = (part[:, i] for part in state)
        k, v = key[:, i], value[:, i]
        high = torch.max(p, k + bonus[i])
        s, t = (p - high).exp(), (k + bonus[i] - high).exp()
        out = (s * a + t * v) / (s * b + t)
        high = torch.max(p - decay[i], k)
        s, t = (p - decay[i] - high).exp(), (k - high).exp()
        columns.append((out, s * a + t * v, s * b + t, high))
    out, a, b, p = (torch.stack(part, 1) for part in zip(*columns, strict=True))
    return out, (a, b, p)


# retention_parallel


def retention_by_loops(query, key, value, decay):
    L, d_k = query.shape[2:]
    rows = []
    for n in range(L):
        row = 0
        for m in range(n + 1):
            score = (query[:, :, n] * key[:, :, m]).sum(-1) / d_k**0.5 * decay ** (n - m)
            row = row + score[..., None] * value[:, :, m]
        rows.append(row)
    return torch.stack(rows, 2)


def retention_by_a_state(q, k, v, decay):
    state, out = 0, []
    for t in range(q.shape[2]):
        state = decay[:, None, None] * state + k[:, :, t, :, None] * v[:, :, t, None, :]
        out.append(torch.einsum("bhk,bhkv->bhv", q[:, :, t], state))
    return torch.stack(out, 2) * q.shape[-1] ** -0.5


def retention_as_flash_linear_attention(q, k, v, decay):
    n = torch.arange(q.shape[2], dtype=q.dtype)
    s = decay.log().view(-1, 1, 1)
    grid = torch.where(n[:, None] >= n, torch.exp(s * (n[:, None] - n).clamp(min=0)), 0.0)
    return torch.einsum("bhqk,bhkd->bhqd", torch.einsum("bhqd,bhkd->bhqk", q, k) * grid, v) / (
        math.sqrt(q.shape[-1])
    )


def retention_with_a_masked_exponent(query, key, value, decay):
    L = query.size(-2)
    lag = torch.arange(L).view(-1, 1) - torch.arange(L).view(1, -1)
    exponent = lag.to(query.dtype).masked_fill(lag < 0, 1e15)
    logs = decay.log().clamp(max=-1e-12).view(-1, 1, 1) * exponent
    scale = query.size(-1) ** 0.5
    return torch.matmul(torch.exp(logs) * torch.matmul(query / scale, key.transpose(-1, -2)), value)


def retention_head_by_head(query, key, value, decay):
    heads = []
    for h in range(query.shape[1]):
        column = [decay[h] ** i for i in range(query.shape[2])]
        row = torch.stack(column)
        table = torch.stack(
            [F.pad(row[: n + 1].flip(0), (0, len(row) - n - 1)) for n in range(len(row))]
        )
        scores = query[:, h] @ key[:, h].mT / query.shape[-1] ** 0.5
        heads.append((scores * table) @ value[:, h])
    return torch.stack(heads, 1)


# retention_chunk


def chunk_token_by_token(query, key, value, decay, state):
    out = []
    for q, k, v in zip(query.unbind(2), key.unbind(2), value.unbind(2), strict=True):
        state = decay.view(1, -1, 1, 1) * state + k.unsqueeze(-1) @ v.unsqueeze(-2)
        out.append((q.unsqueeze(-2) @ state).squeeze(-2) / math.sqrt(query.shape[-1]))
    return torch.stack(out, dim=2), state


def chunk_by_einsum(q, k, v, decay, S):
    T = q.shape[2]
    t = torch.arange(T)
    lag = t[:, None] - t
    D = torch.where(lag >= 0, decay[:, None, None] ** lag.clamp(min=0), 0.0)
    q = q * q.shape[-1] ** -0.5
    inner = torch.einsum("bhtk,bhsk,hts,bhsv->bhtv", q, k, D, v)
    outer = torch.einsum("bhtk,bhkv,ht->bhtv", q, S, decay[:, None] ** (t + 1))
    fresh = torch.einsum("bhsk,bhsv,hs->bhkv", k, v, decay[:, None] ** (T - 1 - t))
    return inner + outer, decay[:, None, None] ** T * S + fresh


def chunk_with_all_states(query, key, value, decay, state):
    states = []
    for t in range(query.shape[-2]):
        outer = key[:, :, t].unsqueeze(-1) * value[:, :, t].unsqueeze(-2)
        state = torch.addcmul(outer, decay[:, None, None].expand_as(state), state)
        states.append(state)
    every = torch.stack(states, 2)
    return (query.unsqueeze(-2) @ every).squeeze(-2) / query.shape[-1] ** 0.5, states[-1].clone()


def chunk_through_logarithms(query, key, value, decay, state):
    log = decay.log()[:, None]
    place = torch.arange(query.shape[2], dtype=query.dtype)
    since, until = (log * (place + 1)).exp()[..., None], (log * (len(place) - 1 - place)).exp()
    lag = (place[:, None] - place).clamp(min=0)
    table = (log[..., None] * lag).exp().tril() / math.sqrt(query.shape[-1])
    out = (query @ key.mT * table) @ value
    out = out + (since * query) @ state / math.sqrt(query.shape[-1])
    kept = (log[..., None] * len(place)).exp()
    return out, state * kept + key.mT @ (until[..., None] * value)


# gated_delta_step


def delta_by_einsum(q, k, v, alpha, beta, S):
    S = S * alpha[..., None, None]
    found = torch.einsum("bhk,bhkv->bhv", k, S)
    S = S + torch.einsum("bhk,bhv->bhkv", k, (v - found) * beta[..., None])
    return torch.einsum("bhk,bhkv->bhv", q, S), S


def delta_by_a_projection(query, key, value, alpha, beta, state):
    """As the paper writes it: the state times α (I - β k kᵀ), and β k vᵀ."""
    k = key.unsqueeze(-1)
    b = beta[..., None, None]
    erase = torch.eye(key.shape[-1], dtype=key.dtype) - b * (k @ k.mT)
    state = alpha[..., None, None] * (erase @ state) + b * (k @ value.unsqueeze(-2))
    return (query.unsqueeze(-2) @ state).squeeze(-2), state


def delta_by_sums(query, key, value, alpha, beta, state):
    state = state * alpha[:, :, None, None]
    memory = (state * key[..., None]).sum(dim=-2)
    delta = (value - memory) * beta[:, :, None]
    state = state + key[..., None] * delta[..., None, :]
    return (state * query[..., None]).sum(dim=-2), state


def delta_on_a_copy(query, key, value, alpha, beta, state):
    mine = alpha[..., None, None] * state.clone()
    target = (
        beta[..., None] * value - beta[..., None] * torch.matmul(key[:, :, None], mine)[:, :, 0]
    )
    mine = torch.baddbmm(
        mine.flatten(0, 1), key.flatten(0, 1)[..., None], target.flatten(0, 1)[:, None]
    ).view_as(state)
    return [torch.matmul(mine.mT, query[..., None])[..., 0], mine]


def delta_head_by_head(query, key, value, alpha, beta, state):
    B, H = alpha.shape
    outs, states = [], []
    for b in range(B):
        for h in range(H):
            S = alpha[b, h] * state[b, h]
            S = S + beta[b, h] * torch.outer(key[b, h], value[b, h] - S.T @ key[b, h])
            outs.append(S.T @ query[b, h])
            states.append(S)
    return torch.stack(outs).reshape(value.shape), torch.stack(states).reshape(state.shape)


# selective_scan


def scan_by_einsum(x, delta, A, B, C, D):
    dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
    dBx = torch.einsum("bld,bln,bld->bldn", delta, B, x)
    h, ys = torch.zeros_like(dA[:, 0]), []
    for t in range(x.shape[1]):
        h = dA[:, t] * h + dBx[:, t]
        ys.append(torch.einsum("bdn,bn->bd", h, C[:, t]))
    return torch.stack(ys, dim=1) + x * D


def scan_by_doubling(x, delta, A, B, C, D):
    keep = (delta.unsqueeze(-1) * A).exp()
    h = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)
    reach = 1
    while reach < x.shape[1]:
        pad = (0, 0, 0, 0, reach, 0)
        h = h + keep * F.pad(h, pad)[:, :-reach]
        keep = keep * F.pad(keep, pad)[:, :-reach]
        reach *= 2
    return (h @ C.unsqueeze(-1)).squeeze(-1) + D * x


def scan_by_a_table(x, delta, A, B, C, D):
    total = (delta.unsqueeze(-1) * A).cumsum(1)
    hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)[None, :, :, None, None]
    apart = (total.unsqueeze(2) - total.unsqueeze(1)).masked_fill(hidden, -torch.inf)
    written = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)
    return torch.einsum("btsdn,bsdn,btn->btd", apart.exp(), written, C) + D * x


def scan_as_mamba(x, delta, A, B, C, D):
    u, dt = x.transpose(1, 2), delta.transpose(1, 2)
    dA = torch.exp(dt.unsqueeze(-1) * A[None, :, None])
    dB = dt.unsqueeze(-1) * B[:, None]
    state = u.new_zeros(u.shape[0], u.shape[1], A.shape[1])
    out = []
    for i in range(u.shape[2]):
        state = dA[:, :, i] * state + dB[:, :, i] * u[:, :, i, None]
        out.append(torch.matmul(state, C[:, i, :, None])[:, :, 0])
    return (torch.stack(out, -1) + u * D[None, :, None]).transpose(1, 2)


def scan_channel_by_channel(x, delta, A, B, C, D):
    channels = []
    for c in range(x.shape[2]):
        h, row = torch.zeros(x.shape[0], A.shape[1], dtype=x.dtype), []
        for t in range(x.shape[1]):
            h = torch.exp(delta[:, t, c, None] * A[c]) * h
            h = h + (delta[:, t, c] * x[:, t, c])[:, None] * B[:, t]
            row.append((h * C[:, t]).sum(1) + D[c] * x[:, t, c])
        channels.append(torch.stack(row, 1))
    return torch.stack(channels, 2)


# route_top_k


def route_by_mixtral(logits, k):
    weights, selected = torch.topk(F.softmax(logits, dim=-1), k, dim=-1)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return selected, weights


def route_by_masking(logits, k):
    values, index = logits.topk(k, dim=-1)
    kept = torch.full_like(logits, -torch.inf).scatter(-1, index, values)
    return index, kept.softmax(-1).gather(-1, index)


def route_by_sorting(logits, k):
    order = logits.argsort(dim=-1, descending=True)[:, :k]
    top = torch.take_along_dim(logits, order, dim=-1)
    e = torch.exp(top - top[:, :1])
    return order, e / e.sum(dim=-1, keepdim=True)


def route_token_by_token(logits, k):
    index, gates = [], []
    for row in logits:
        values, places = torch.sort(row, descending=True)
        index.append(places[:k])
        gates.append(torch.softmax(values[:k], dim=0))
    return [torch.stack(index), torch.stack(gates)]


def route_by_masked_maxima(logits, k):
    left, found = logits.detach().clone(), []
    for _ in range(k):
        best = left.argmax(-1, keepdim=True)
        found.append(best)
        left = left.scatter(-1, best, -torch.inf)
    index = torch.cat(found, -1)
    return index, F.softmax(torch.gather(logits, 1, index), dim=1)


# mix_experts


def mix_token_by_token(x, experts, index, gates):
    rows = []
    for n in range(len(x)):
        row = torch.zeros_like(x[n])
        for j in range(index.shape[1]):
            row = row + gates[n, j] * experts[int(index[n, j])](x[n : n + 1])[0]
        rows.append(row)
    return torch.stack(rows)


def mix_choice_by_choice(x, experts, index, gates):
    out = torch.zeros_like(x)
    for j in range(index.shape[1]):
        for e, expert in enumerate(experts):
            mask = index[:, j] == e
            if mask.any():
                out[mask] = out[mask] + gates[mask, j, None] * expert(x[mask])
    return out


def mix_as_mixtral(x, experts, index, gates):
    final = torch.zeros_like(x)
    mask = F.one_hot(index, num_classes=len(experts)).permute(2, 1, 0)
    for e in range(len(experts)):
        slot, token = torch.where(mask[e])
        if token.numel() == 0:
            continue
        final.index_add_(0, token, experts[e](x[token]) * gates[token, slot, None])
    return final


def mix_sorted_by_expert(x, experts, index, gates):
    k = index.shape[1]
    flat = index.flatten()
    order = flat.argsort()
    token = order // k
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    parts = [
        expert(rows)
        for expert, rows in zip(experts, x[token].split(counts), strict=True)
        if len(rows)
    ]
    made = torch.cat(parts) * gates.flatten()[order].unsqueeze(-1)
    return torch.zeros_like(x).scatter_add(0, token.unsqueeze(-1).expand_as(made), made)


def mix_with_calls_without_rows(x, experts, index, gates):
    out = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        hit = index == e
        rows = hit.any(-1)
        share = (gates * hit).sum(-1, keepdim=True)[rows]
        full = torch.zeros_like(x)
        full[rows] = share * expert(x[rows])
        out = out + full
    return out


# load_balance_loss


def balance_by_bincount(logits, index):
    E = logits.shape[1]
    f = torch.bincount(index.reshape(-1), minlength=E) / index.numel()
    return E * torch.dot(f.to(logits.dtype), torch.softmax(logits, 1).mean(0))


def balance_by_loops(logits, index):
    p = F.softmax(logits, dim=-1)
    total = 0
    for e in range(logits.shape[1]):
        total = total + (index == e).float().mean() * p[:, e].mean()
    return (logits.shape[1] * total).to(logits.dtype)


def balance_by_scatter(logits, index):
    N, E = logits.shape
    ones = torch.ones_like(index, dtype=logits.dtype)
    counts = torch.zeros(E, dtype=logits.dtype).scatter_add(0, index.flatten(), ones.flatten())
    return E * (counts / counts.sum()) @ logits.softmax(-1).sum(0) / N


def balance_as_mixtral(logits, index):
    probabilities = torch.softmax(logits, dim=-1)
    mask = F.one_hot(index, logits.shape[-1])
    tokens = mask.to(logits.dtype).mean(0)
    return (tokens * probabilities.mean(0).unsqueeze(0)).sum() * logits.shape[-1] / index.shape[-1]


def balance_in_one_einsum(logits, index):
    hot = F.one_hot(index, logits.shape[-1]).to(logits.dtype)
    both = torch.einsum("nke,me->", hot, logits.log_softmax(-1).exp())
    return both * logits.shape[-1] / (index.numel() * len(logits))


# cache_plan


def plan_layer_by_layer(config, bytes_per_element=2):
    """Each layer says what it sees and what it adds."""
    family, n = config["model_type"], config["num_hidden_layers"]
    heads = config["num_attention_heads"]
    if family == "deepseek_v3":
        kept = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        width = config.get("head_dim")
        if not width:
            fixed = {"qwen3": 128, "gemma3_text": 256, "gpt_oss": 64}
            width = fixed.get(family, config["hidden_size"] // heads)
        kept = 2 * width * (config.get("num_key_value_heads") or heads)
    seen, added = [], 0
    for layer in range(n):
        if config.get("layer_types"):
            far = config["layer_types"][layer] == "full_attention"
        elif family == "qwen3":
            far = not config.get("use_sliding_window") or layer < config.get(
                "max_window_layers", 28
            )
        elif family == "gemma3_text":
            far = (layer + 1) % config.get("sliding_window_pattern", 6) == 0
        else:
            far = family != "gpt_oss" or layer % 2 == 1
        seen.append(None if far else config["sliding_window"])
        added += kept * bytes_per_element * far
    return added, seen


def plan_from_two_long_texts(config, bytes_per_element=2):
    """The cache of a long text is compared with that of one token more."""
    _, reach = plan_layer_by_layer(config)
    kept = plan_layer_by_layer(config | {"layer_types": ["full_attention"], "num_hidden_layers": 1})
    per_layer = kept[0] // 2 * bytes_per_element

    def size(tokens):
        return sum(min(tokens, tokens if one is None else one) for one in reach) * per_layer

    return size(10**6 + 1) - size(10**6), reach


def plan_as_transformers(config, bytes_per_element=2):
    """Their configuration class fills in what is missing."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    fields = {k: v for k, v in config.items() if k != "model_type"}
    full = CONFIG_MAPPING[config["model_type"]](**fields)
    kinds = getattr(full, "layer_types", None) or ["full_attention"] * full.num_hidden_layers
    if config["model_type"] == "deepseek_v3":
        numbers = full.kv_lora_rank + full.qk_rope_head_dim
    else:
        numbers = 2 * full.num_key_value_heads * full.head_dim
    reach = [full.sliding_window if kind == "sliding_attention" else None for kind in kinds]
    return kinds.count("full_attention") * numbers * bytes_per_element, tuple(reach)


RIGHT_WAYS_CH17 = {
    "wkv_step": (
        wkv_with_tops_as_constants,
        wkv_by_logarithms,
        wkv_by_softmax,
        wkv_as_its_authors,
        wkv_channel_by_channel,
    ),
    "retention_parallel": (
        retention_by_loops,
        retention_by_a_state,
        retention_as_flash_linear_attention,
        retention_with_a_masked_exponent,
        retention_head_by_head,
    ),
    "retention_chunk": (
        chunk_token_by_token,
        chunk_by_einsum,
        chunk_with_all_states,
        chunk_through_logarithms,
    ),
    "gated_delta_step": (
        delta_by_einsum,
        delta_by_a_projection,
        delta_by_sums,
        delta_on_a_copy,
        delta_head_by_head,
    ),
    "selective_scan": (
        scan_by_einsum,
        scan_by_doubling,
        scan_by_a_table,
        scan_as_mamba,
        scan_channel_by_channel,
    ),
    "route_top_k": (
        route_by_mixtral,
        route_by_masking,
        route_by_sorting,
        route_token_by_token,
        route_by_masked_maxima,
    ),
    "mix_experts": (
        mix_token_by_token,
        mix_choice_by_choice,
        mix_as_mixtral,
        mix_sorted_by_expert,
        mix_with_calls_without_rows,
    ),
    "load_balance_loss": (
        balance_by_bincount,
        balance_by_loops,
        balance_by_scatter,
        balance_as_mixtral,
        balance_in_one_einsum,
    ),
    "cache_plan": (plan_layer_by_layer, plan_from_two_long_texts, plan_as_transformers),
}
