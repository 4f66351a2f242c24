"""Right answers to the exercises of chapter 20 in other styles."""

import itertools
import math
from statistics import fmean

import numpy as np
import torch
import torch.nn.functional as F

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

# direct_attribution

# patch_grid

# copying_score

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
}
