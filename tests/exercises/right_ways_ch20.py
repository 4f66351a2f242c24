"""Right answers to the exercises of chapter 20 in other styles."""

import itertools
import math
from statistics import fmean

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

# role_share


def share_query_by_query(weights, chosen):
    L = weights.shape[-1]
    share = torch.zeros(weights.shape[:-2], dtype=weights.dtype)
    rates = []
    for i in range(L):
        keys = [j for j in range(i + 1) if chosen[i, j]]
        if keys:
            share = share + weights[..., i, keys].sum(-1)
            rates.append(len(keys) / (i + 1))
    return (share / len(rates), sum(rates) / len(rates)) if rates else (share, 0)


def share_with_numpy(weights, chosen):
    m = np.tril(chosen.numpy())
    i = np.flatnonzero(m.any(1))
    if i.size == 0:
        return [torch.zeros_like(weights[..., 0, 0]), 0.0]
    s = np.einsum("...ij,ij->...i", weights.numpy(), m)[..., i].mean(-1)
    return [torch.as_tensor(s, dtype=weights.dtype), (m.sum(1)[i] / (i + 1)).mean()]


def share_by_equal_weights(weights, chosen):
    seen = chosen & (torch.arange(len(chosen))[:, None] >= torch.arange(len(chosen)))
    number = max(1, int(seen.any(1).sum()))
    equal = torch.ones_like(seen, dtype=weights.dtype).tril()
    equal = equal / equal.sum(-1, keepdim=True)
    return weights[..., seen].sum(-1) / number, float(equal[seen].sum()) / number


def share_with_a_nan_replaced(weights, chosen):
    seen = chosen.tril().to(weights.dtype)
    counted = seen.amax(-1)
    n = counted.sum()
    share = torch.einsum("...ij,ij->...", weights, seen) / n
    base = (seen.mean(-1) * len(seen) / torch.arange(1, len(seen) + 1)).sum() / n
    return share.nan_to_num(0.0), base.nan_to_num(0.0).item()


def share_from_a_list_of_rows(weights, chosen):
    out = weights.clone()
    out[..., ~chosen.tril()] = 0
    rows = chosen.tril().any(1).nonzero().flatten().tolist()
    if not rows:
        return out.sum((-2, -1)) * 0, 0.0
    rates = [chosen[i, : i + 1].double().mean().item() for i in rows]
    return torch.stack([out[..., i, :].sum(-1) for i in rows]).mean(0), fmean(rates)


def share_head_by_head(weights, chosen):
    flat = weights.reshape(-1, *weights.shape[-2:])
    seen = chosen.tril()
    rows = seen.any(1)
    if not bool(rows.any()):
        return flat.new_zeros(len(flat)).reshape(weights.shape[:-2]), 0.0
    got = torch.stack([torch.where(seen, head, 0).sum(1)[rows].mean() for head in flat])
    rates = seen.sum(1)[rows] / (rows.nonzero().squeeze(1) + 1)
    return got.view(weights.shape[:-2]), rates.mean().item()


def share_as_one_weighted_sum(weights, chosen):
    seen = torch.where(torch.ones_like(chosen).triu(1), torch.zeros_like(chosen), chosen)
    rows = seen.any(-1).to(weights)
    per = rows / rows.sum().clamp_min(1)
    rates = seen.cumsum(-1)[:, -1] / torch.ones_like(seen).tril().sum(-1)
    return (weights * seen * per[:, None]).sum(dim=(-1, -2)), float((rates * per).sum())


def share_by_dot_products(weights, chosen):
    seen = chosen.tril()
    (rows,) = seen.any(-1).nonzero(as_tuple=True)
    acc = torch.zeros_like(weights[..., 0, 0])
    b = 0.0
    for i in rows:
        acc += weights[..., i, :] @ seen[i].to(weights.dtype)
        b += float(seen[i].sum()) / float(i + 1)
    n = len(rows) or 1
    return acc / n, b / n


def share_by_filling_with_zeros(weights, chosen):
    L = len(chosen)
    seen = torch.logical_and(chosen, torch.tril(torch.ones(L, L)).bool())
    many = seen.sum(1)
    n = (many > 0).sum().item()
    if n == 0:
        return torch.zeros(weights.shape[:-2], dtype=weights.dtype), 0.0
    x = torch.masked_fill(weights, torch.logical_not(seen), 0)
    return x.flatten(-2).sum(-1).div(n), sum(m / (i + 1) for i, m in enumerate(many.tolist())) / n


# without_key


def hidden_in_a_copy(weights, key):
    w = weights.clone()
    w[..., key] = 0
    s = w.sum(-1, keepdim=True)
    return w / torch.where(s == 0, 1, s)


def hidden_with_a_one_added_to_nothing(weights, key):
    w = weights.clone()
    w[..., key] = 0
    s = w.sum(-1, keepdim=True)
    s = s + (s == 0)
    return w / s


def hidden_by_joining_both_sides(weights, key):
    none = torch.zeros_like(weights[..., :1])
    w = torch.cat([weights[..., :key], none, weights[..., key + 1 :]], -1)
    s = w.sum(-1, keepdim=True)
    return w.div(s.masked_fill(s == 0, 1.0))


def hidden_by_index_fill(weights, key):
    w = weights.index_fill(-1, torch.tensor([key]), 0.0)
    return w / w.sum(-1, keepdim=True).clamp(min=1e-30)


def hidden_by_scores_again(weights, key):
    others = torch.arange(weights.shape[-1]) != key
    safe = weights.masked_fill(weights == 0, 1e-30).log().masked_fill(~others, -torch.inf)
    seen = (weights > 0) & others
    m = torch.where(seen, safe, -torch.inf)
    top = m.amax(-1, keepdim=True)
    top = torch.where(top.isfinite(), top, 0.0).detach()
    e = torch.where(seen, (torch.where(seen, m, 0.0) - top).exp(), 0.0)
    s = e.sum(-1, keepdim=True)
    return e / torch.where(s == 0, 1.0, s)


def hidden_by_a_one_hot_key(weights, key):
    w = weights * (1 - F.one_hot(torch.tensor(key), weights.shape[-1])).to(weights.dtype)
    return w / (w.sum(-1, keepdim=True) + 1e-37)


def hidden_column_by_column(weights, key):
    w = weights.unbind(-1)
    rest = [x for j, x in enumerate(w) if j != key]
    s = sum(rest, torch.zeros_like(w[0]))
    s = torch.where(s > 0, s, torch.ones_like(s))
    return torch.stack([torch.zeros_like(x) if j == key else x / s for j, x in enumerate(w)], -1)


def hidden_row_by_row(weights, key):
    rows = []
    for row in weights.reshape(-1, weights.shape[-1]):
        row = torch.stack([x if j != key else x * 0 for j, x in enumerate(row)])
        rows.append(row / row.sum() if row.sum() > 0 else row)
    return torch.stack(rows).reshape(weights.shape)


def hidden_by_scatter(weights, key):
    w = weights.scatter(-1, torch.full_like(weights[..., :1], key, dtype=torch.long), 0.0)
    s = torch.einsum("...s->...", w)[..., None]
    return torch.where(s > 0, w / torch.where(s > 0, s, 1.0), 0.0)


def hidden_by_two_sums(weights, key):
    left = weights[..., :key].sum(-1) + weights[..., key + 1 :].sum(-1)
    scale = torch.zeros_like(left)
    scale[left > 0] = 1 / left[left > 0]
    out = weights * scale[..., None]
    out[..., key] = 0
    return out


def hidden_by_a_projection(weights, key):
    S = weights.shape[-1]
    drop = torch.eye(S, dtype=weights.dtype)
    drop[key, key] = 0
    w = weights @ drop
    s = w @ torch.ones(S, 1, dtype=weights.dtype)
    return w / s.where(s > 0, torch.ones(()).to(s))


# mean_ablate


def ablated_in_a_copy(outputs, heads, reference):
    out = outputs.clone()
    for h in set(heads):
        out[:, h] = reference[:, h].flatten(0, 1).mean(0)
    return out


def ablated_by_where(outputs, heads, reference):
    hot = torch.zeros(outputs.shape[1], dtype=torch.bool)
    hot[heads] = True
    return torch.where(hot[:, None, None], reference.mean((0, 2), keepdim=True), outputs)


def ablated_by_stacking(outputs, heads, reference):
    parts = []
    for h, own in enumerate(outputs.unbind(1)):
        parts.append(reference[:, h].mean((0, 1)).expand_as(own) if h in heads else own)
    return torch.stack(parts, dim=1)


def ablated_by_a_mask_of_numbers(outputs, heads, reference):
    H = outputs.shape[1]
    keep = torch.tensor([h not in heads for h in range(H)]).to(outputs.dtype).view(1, -1, 1, 1)
    return outputs * keep + reference.mean(dim=[0, 2]).view(1, H, 1, -1) * (1 - keep)


def ablated_by_index_copy(outputs, heads, reference):
    index = torch.tensor(sorted(set(heads)), dtype=torch.long)
    means = reference.mean((0, 2))[index][None, :, None]
    return outputs.index_copy(1, index, means.expand(len(outputs), -1, outputs.shape[2], -1))


def ablated_at_an_index_tensor(outputs, heads, reference):
    index = torch.tensor(heads, dtype=torch.long)
    out = outputs.clone()
    out[:, index] = reference.mean((0, 2))[index].unsqueeze(1)
    return out


def ablated_by_numpy_means(outputs, heads, reference):
    m = np.asarray(reference.detach()).mean(axis=(0, 2))
    out = 1 * outputs
    for h in heads:
        out[:, h, :, :] = torch.as_tensor(m[h])
    return out


def ablated_number_by_number(outputs, heads, reference):
    N, _, M, _ = reference.shape
    out = torch.empty_like(outputs)
    for b, h, i in itertools.product(*map(range, outputs.shape[:3])):
        if h in heads:
            every = (reference[n, h, m] for n in range(N) for m in range(M))
            out[b, h, i] = sum(every) / (N * M)
        else:
            out[b, h, i] = outputs[b, h, i]
    return out


def ablated_by_a_sum_of_two(outputs, heads, reference):
    listed = torch.zeros(outputs.shape[1], dtype=torch.bool)
    for h in heads:
        listed[h] = True
    m = torch.einsum("nhmd->hd", reference) / (reference.shape[0] * reference.shape[2])
    return outputs.masked_fill(listed[:, None, None], 0.0) + (m * listed[:, None])[:, None]


def ablated_in_a_list_of_heads(outputs, heads, reference):
    out = list(outputs.clone().unbind(1))
    for h in heads:
        out[h] = torch.zeros_like(out[h]) + torch.mean(torch.mean(reference, 2), 0)[h]
    return torch.stack(out, 1)


def ablated_by_a_mean_of_means(outputs, heads, reference):
    out = outputs + 0
    out[:, heads, :, :] = reference.mean(2).mean(0)[heads, None, :]
    return out


# composition_score


def composed_one_norm_after_the_other(W_V, W_O, W_in, W_other):
    a = W_V @ W_O
    b = W_in @ W_other.T
    s = a.norm().item() * b.norm().item()
    return (a @ b).norm().item() / s if s else 0.0


def composed_with_a_zero_of_whole_numbers(W_V, W_O, W_in, W_other):
    a = W_V @ W_O
    b = W_in @ W_other.T
    if not a.any() or not b.any():
        return 0
    return float(torch.linalg.norm(a @ b) / torch.linalg.norm(a) / torch.linalg.norm(b))


def composed_by_numpy(W_V, W_O, W_in, W_other):
    a = W_V.numpy().astype(float) @ W_O.numpy()
    b = W_in.numpy().astype(float) @ W_other.numpy().T
    s = np.linalg.norm(a) * np.linalg.norm(b)
    return np.linalg.norm(a @ b) / s if s > 0 else np.float64(0)


def composed_with_a_nan_replaced(W_V, W_O, W_in, W_other):
    a = W_V @ W_O
    b = W_in @ W_other.T
    return ((a @ b).norm() / (a.norm() * b.norm())).nan_to_num(0.0).item()


def composed_by_traces(W_V, W_O, W_in, W_other):
    a = torch.einsum("ik,kj->ij", W_V, W_O)
    b = torch.einsum("ik,jk->ij", W_in, W_other)
    top, *below = (math.sqrt(torch.trace(x @ x.T).item()) for x in (torch.matmul(a, b), a, b))
    return top / math.prod(below) if all(below) else 0.0


def composed_by_singular_values(W_V, W_O, W_in, W_other):
    a = W_V @ W_O
    b = W_in @ W_other.T
    s = torch.linalg.svdvals(a).square().sum() * torch.linalg.svdvals(b).square().sum()
    t = torch.linalg.svdvals(a @ b).square().sum()
    return math.sqrt((t / s).item()) if s > 0 else 0.0


def composed_of_circuits_of_norm_1(W_V, W_O, W_in, W_other):
    a = W_V @ W_O
    b = W_in @ W_other.T
    a = a / a.norm() if a.norm() > 0 else a
    b = b / b.norm() if b.norm() > 0 else b
    return (a @ b).norm().tolist()


def composed_in_small_matrices(W_V, W_O, W_in, W_other):
    vv, oo, ii, qq = (x for x in (W_V.T @ W_V, W_O, W_in, W_other.T @ W_other))
    core = oo @ ii
    top = torch.trace(vv @ core @ qq @ core.T)
    bottom = torch.trace(vv @ oo @ oo.T) * torch.trace(ii.T @ ii @ qq)
    return math.sqrt(max(0.0, top.item()) / bottom.item()) if bottom.item() > 0 else 0.0


def composed_with_a_tiny_epsilon(W_V, W_O, W_in, W_other):
    a = W_V @ W_O
    b = W_in @ W_other.T
    s = (a.norm() * b.norm() + 1e-12).item()
    return torch.dist(a @ b, torch.zeros_like(a)).item() / s


def composed_by_lists(W_V, W_O, W_in, W_other):
    a = torch.mm(W_V, W_O).tolist()
    b = torch.mm(W_in, W_other.t()).tolist()
    n = range(len(a))
    c = [[sum(a[i][k] * b[k][j] for k in n) for j in n] for i in n]
    top, *below = (math.hypot(*itertools.chain(*one)) for one in (c, a, b))
    return top / math.prod(below) if all(below) else 0.0


# logit_lens


def lens_by_pytorchs_own(states, gain, unembed, token, eps):
    logits = F.linear(F.rms_norm(states, [states.shape[-1]], gain, eps), unembed)
    place = (logits > logits.select(-1, token).unsqueeze(-1)).count_nonzero(-1)
    target = torch.full(states.shape[:-1], token).flatten()
    loss = F.cross_entropy(logits.reshape(-1, len(unembed)), target, reduction="none")
    return place, -loss.view(states.shape[:-1])


def lens_state_by_state(h, gain, W, token, eps):
    ranks, chances = [], []
    for row in h.reshape(-1, h.shape[-1]):
        root = torch.sqrt(sum(x * x for x in row) / len(row) + eps)
        scores = torch.stack([(row * gain * word).sum() / root for word in W])
        ranks.append(sum(bool(score > scores[token]) for score in scores))
        chances.append(scores[token] - torch.logsumexp(scores, 0))
    return torch.tensor(ranks).view(h.shape[:-1]), torch.stack(chances).view(h.shape[:-1])


def lens_with_the_gain_in_the_words(states, gain, unembed, token, eps):
    shortened = states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + eps)
    scores = torch.einsum("...d,vd->...v", shortened, unembed * gain)
    shifted = scores - scores.max(-1, keepdim=True).values.detach()
    logs = shifted - shifted.exp().sum(-1, keepdim=True).log()
    return torch.gt(scores, scores[..., token : token + 1]).sum(dim=-1), logs[..., token]


def lens_by_log_probabilities(states, gain, unembed, token, eps):
    logs = torch.log_softmax(
        (states / (states**2).mean(-1, True).add(eps).sqrt() * gain) @ unembed.T, -1
    )
    return (logs > logs[..., token].unsqueeze(-1)).long().sum(-1), logs[..., token]


def lens_by_differences(states, gain, unembed, token, eps):
    """Subtract the token's row first: what is left is how far each word is above it."""
    d = states.shape[-1]
    above = unembed - unembed[token]
    normed = (
        states * gain * math.sqrt(d) / (states.norm(dim=-1, keepdim=True) ** 2 + d * eps) ** 0.5
    )
    gaps = torch.tensordot(normed, above, dims=([-1], [-1]))
    return (gaps > 0).sum(-1), -gaps.logsumexp(-1)


def lens_by_a_sorted_row(states, gain, unembed, token, eps):
    logits = F.rms_norm(states, gain.shape, eps=eps).mul(gain).matmul(unembed.t())
    own = logits[..., token]
    ordered = (-logits).sort(-1).values.contiguous()
    rank = torch.searchsorted(ordered, (-own).unsqueeze(-1).contiguous(), right=False).squeeze(-1)
    return rank, own - torch.logsumexp(logits, dim=-1)


# direct_attribution


def attribution_as_a_gradient(head_outputs, W_O, final_state, gain, direction, eps):
    z = head_outputs.detach().clone().requires_grad_()
    r = (final_state.detach().pow(2).mean(-1, keepdim=True) + eps).sqrt()
    total = (torch.einsum("bnhk,nhkd->bd", z, W_O) / r * gain * direction).sum()
    (slope,) = torch.autograd.grad(total, z)
    return (slope * z).sum(-1).detach()


def attribution_part_by_part(z, W_O, final_state, gain, direction, eps):
    B, n, H, _ = z.shape
    out = torch.empty(B, n, H, dtype=z.dtype)
    for b in range(B):
        r = math.sqrt(float((final_state[b].double() ** 2).mean()) + eps)
        for layer in range(n):
            for head in range(H):
                wrote = z[b, layer, head] @ W_O[layer, head]
                out[b, layer, head] = torch.dot(wrote / r * gain, direction[b])
    return out


def attribution_by_reading_back(z, W_O, final_state, gain, direction, eps):
    """Bring the direction back to each head's own features, and multiply there."""
    wanted = direction * gain * torch.rsqrt(final_state.square().mean(-1, keepdim=True) + eps)
    read = torch.einsum("nhkd,bd->bnhk", W_O, wanted)
    return (z * read).sum(-1)


def attribution_by_matmul(head_outputs, W_O, final_state, gain, direction, eps):
    wrote = (head_outputs.unsqueeze(-2) @ W_O).squeeze(-2)
    r = torch.sqrt(final_state.pow(2).sum(-1) / final_state.size(-1) + eps)
    lifted = wrote * gain[None, None, None] / r.view(-1, 1, 1, 1)
    return (lifted @ direction[:, None, :, None]).squeeze(-1)


def attribution_by_numpy(head_outputs, W_O, final_state, gain, direction, eps):
    z, W, x, g, u = (one.numpy() for one in (head_outputs, W_O, final_state, gain, direction))
    r = np.sqrt(np.mean(x**2, axis=1) + eps)
    return torch.from_numpy(np.einsum("bnhk,nhkd,d,bd,b->bnh", z, W, g, u, 1 / r).astype(z.dtype))


def attribution_by_one_wide_matrix(head_outputs, W_O, final_state, gain, direction, eps):
    B, n, H, k = head_outputs.shape
    blocks = torch.block_diag(*head_outputs.reshape(B * n * H, 1, k))
    wrote = blocks @ W_O.reshape(n * H * k, -1).repeat(B, 1)
    r = (final_state.square().mean(1) + eps).sqrt().reciprocal()
    return (wrote.view(B, n * H, -1) @ (direction * gain * r[:, None])[..., None]).view(B, n, H)


def attribution_by_a_difference(head_outputs, W_O, final_state, gain, direction, eps):
    """Take each part out of the stream, with the norm as it was, and see what is lost."""

    def read(x: Tensor) -> Tensor:
        r = torch.linalg.vector_norm(final_state, dim=-1) ** 2 / final_state.shape[-1] + eps
        return torch.einsum("b...d,d,bd,b->b...", x, gain, direction, r**-0.5)

    wrote = torch.einsum("bnhk,nhkd->bnhd", head_outputs, W_O)
    without = read(0 * final_state)
    return read(wrote) - without[:, None, None]


# patch_grid


def grid_as_lists(run, clean, corrupt):
    full, states = run(clean)
    none, _ = run(corrupt)
    if full == none:
        return torch.zeros(len(states), len(clean))
    return torch.tensor([
        [(run(corrupt, i, p, s)[0] - none) / (full - none) for p, s in enumerate(row)]
        for i, row in enumerate(states)
    ])  # fmt: skip


def grid_without_needless_runs(run, clean, corrupt):
    full, cleans = run(clean)
    none, corrupts = run(corrupt)
    grid = cleans.new_zeros(cleans.shape[:-1])
    if full != none:
        for i, p in (cleans != corrupts).any(-1).nonzero().tolist():
            grid[i, p] = run(corrupt, layer=i, position=p, state=cleans[i, p])[0]
            grid[i, p] = (grid[i, p] - none) / (full - none)
    return grid


def grid_running_the_clean_one_for_each_cell(run, clean, corrupt):
    n, L = run(clean)[1].shape[:2]
    out = np.zeros((n, L))
    for i in np.ndindex(n, L):
        value, states = run(clean)
        low = run(corrupt)[0]
        got = run(corrupt, layer=i[0], position=i[1], state=states[i])[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            out[i] = np.divide(got - low, value - low) if abs(value - low) > 1e-12 else 0
    return torch.from_numpy(out)


def grid_from_the_last_cell(run, clean, corrupt):
    best, states = run(tokens=clean)
    worst, _ = run(tokens=corrupt)
    values, L = [], len(corrupt)
    cell = states.shape[0] * L
    while cell:
        cell -= 1
        layer, position = divmod(cell, L)
        values.insert(0, run(corrupt, layer, position, states[layer][position].clone())[0])
    table = torch.tensor(values, dtype=torch.float64).view(-1, L) - worst
    return table / (best - worst) if best != worst else torch.zeros_like(table)


def grid_by_what_is_missing(run, clean, corrupt):
    (a, kept), (b, _) = run(clean), run(corrupt)
    gap = a - b or math.inf
    grid = torch.full(kept.shape[:2], 0.0, dtype=torch.float64)
    for layer in torch.arange(len(kept)):
        for position in torch.arange(len(clean)):
            missing = (
                a - run(corrupt, layer=layer, position=position, state=kept[layer, position])[0]
            )
            grid[layer, position] = 1 - missing / gap if math.isfinite(gap) else 0.0
    return grid


def grid_with_one_scale(run, clean, corrupt):
    points, states = zip(run(corrupt), run(clean), strict=True)
    effect = lambda i, p: run(corrupt, layer=i, position=p, state=states[1][i, p])[0]  # noqa: E731
    n, L, _ = states[1].shape
    raw = torch.tensor([effect(i, p) for i in range(n) for p in range(L)], dtype=torch.float64)
    shares = torch.nan_to_num(
        (raw - points[0]) / torch.tensor(points[1] - points[0]).double(), 0, 0, 0
    )
    return shares.unflatten(0, (n, L))


# copying_score


def score_from_the_trace(source, W_V, W_O, unembed):
    a = (source - source.mean(0, keepdim=True)) @ W_V
    b = W_O @ (unembed - unembed.mean(0, keepdim=True)).T
    sizes = torch.linalg.eigvals(b @ a).abs().sum().item()
    return 0.0 if sizes == 0 else (b @ a).trace().item() / sizes


def score_over_the_stream(source, W_V, W_O, unembed):
    met = (unembed - unembed.mean(0)).T @ (source - source.mean(0))
    found = np.linalg.eigvals((met @ W_V @ W_O).numpy())
    total = np.abs(found).sum()
    return float(found.real.sum() / total) if total > 0 else 0.0


def score_token_by_token(source, W_V, W_O, unembed):
    low, high = source.sum(0) / len(source), unembed.sum(0) / len(unembed)
    table = torch.zeros(W_V.shape[1], W_V.shape[1], dtype=source.dtype)
    for seen, counted in zip(source, unembed, strict=True):
        table += torch.outer(W_O @ (counted - high), (seen - low) @ W_V)
    real, imag = torch.view_as_real(torch.linalg.eigvals(table).to(torch.complex128)).unbind(-1)
    size = torch.hypot(real, imag).sum()
    return float(real.sum() / size) if size else 0.0


def score_centred_once(source, W_V, W_O, unembed):
    """Centring one of the two is enough: it is a projection, of one side."""
    table = W_O @ unembed.mT @ (source - source.mean(0)) @ W_V
    values = torch.linalg.eig(table).eigenvalues
    if not values.abs().any():
        return 0.0
    return (values.sum() / values.abs().sum()).real.item()


def score_by_covariance(source, W_V, W_O, unembed):
    N = len(source)
    both = unembed.double().T @ source.double() - N * torch.outer(
        unembed.double().mean(0), source.double().mean(0)
    )
    if N == 1 or not W_V.any() or not W_O.any() or not unembed.any():
        return 0.0
    values = torch.linalg.eigvals(W_O.double() @ both @ W_V.double())
    return sum(z.real for z in values.tolist()) / sum(abs(z) for z in values.tolist())


def score_by_angles(source, W_V, W_O, unembed):
    left = F.linear(source - source.mean(0), W_V.T)
    right = F.linear(unembed - unembed.mean(0), W_O)
    values = torch.linalg.eigvals((right.T @ left).double()).numpy()
    sizes, angles = np.abs(values), np.angle(values)
    return np.average(np.cos(angles), weights=sizes) if sizes.sum() else 0.0


RIGHT_WAYS_CH20 = {
    "role_share": (
        share_query_by_query,
        share_with_numpy,
        share_by_equal_weights,
        share_with_a_nan_replaced,
        share_from_a_list_of_rows,
        share_head_by_head,
        share_as_one_weighted_sum,
        share_by_dot_products,
        share_by_filling_with_zeros,
    ),
    "without_key": (
        hidden_in_a_copy,
        hidden_with_a_one_added_to_nothing,
        hidden_by_joining_both_sides,
        hidden_by_index_fill,
        hidden_by_scores_again,
        hidden_by_a_one_hot_key,
        hidden_column_by_column,
        hidden_row_by_row,
        hidden_by_scatter,
        hidden_by_two_sums,
        hidden_by_a_projection,
    ),
    "mean_ablate": (
        ablated_in_a_copy,
        ablated_by_where,
        ablated_by_stacking,
        ablated_by_a_mask_of_numbers,
        ablated_by_index_copy,
        ablated_at_an_index_tensor,
        ablated_by_numpy_means,
        ablated_number_by_number,
        ablated_by_a_sum_of_two,
        ablated_in_a_list_of_heads,
        ablated_by_a_mean_of_means,
    ),
    "composition_score": (
        composed_one_norm_after_the_other,
        composed_with_a_zero_of_whole_numbers,
        composed_by_numpy,
        composed_with_a_nan_replaced,
        composed_by_traces,
        composed_by_singular_values,
        composed_of_circuits_of_norm_1,
        composed_in_small_matrices,
        composed_with_a_tiny_epsilon,
        composed_by_lists,
    ),
    "logit_lens": (
        lens_by_pytorchs_own,
        lens_state_by_state,
        lens_with_the_gain_in_the_words,
        lens_by_log_probabilities,
        lens_by_differences,
        lens_by_a_sorted_row,
    ),
    "direct_attribution": (
        attribution_as_a_gradient,
        attribution_part_by_part,
        attribution_by_reading_back,
        attribution_by_matmul,
        attribution_by_numpy,
        attribution_by_one_wide_matrix,
        attribution_by_a_difference,
    ),
    "patch_grid": (
        grid_as_lists,
        grid_without_needless_runs,
        grid_running_the_clean_one_for_each_cell,
        grid_from_the_last_cell,
        grid_by_what_is_missing,
        grid_with_one_scale,
    ),
    "copying_score": (
        score_from_the_trace,
        score_over_the_stream,
        score_token_by_token,
        score_centred_once,
        score_by_covariance,
        score_by_angles,
    ),
}
