"""Right answers to the exercises of chapter 08 in other styles than the reference."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def _softmax(scores, mask):
    if mask is None:
        return scores.softmax(-1)
    empty = ~mask.any(-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0)
    return hidden.softmax(-1).masked_fill(empty, 0.0)


# grouped_query_attention


def grouped_by_einsum(query, key, value, attn_mask=None):
    b, h, length, d = query.shape
    g = h // key.shape[1]
    scores = torch.einsum("bkgld,bksd->bkgls", query.view(b, -1, g, length, d), key) / d**0.5
    weights = _softmax(scores.flatten(1, 2), attn_mask).unflatten(1, (-1, g))
    return torch.einsum("bkgls,bksv->bkglv", weights, value).flatten(1, 2)


def grouped_head_by_head(q, k, v, mask=None):
    group = q.shape[1] // k.shape[1]
    if mask is not None:
        mask = mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    outs = []
    for h in range(q.shape[1]):
        scores = q[:, h] @ k[:, h // group].transpose(1, 2) / math.sqrt(q.shape[-1])
        outs.append(_softmax(scores, None if mask is None else mask[:, h]) @ v[:, h // group])
    return torch.stack(outs, 1)


def grouped_by_torch_inside_each_group(q, k, v, attn_mask=None):
    size = q.shape[1] // k.shape[1]
    full = None
    if attn_mask is not None:
        full = attn_mask.expand(*q.shape[:3], k.shape[2])
    outs = []
    for j in range(k.shape[1]):
        mine = slice(j * size, (j + 1) * size)
        rows = q[:, mine].flatten(1, 2)
        mask = None if full is None else full[:, mine].flatten(1, 2)
        out = F.scaled_dot_product_attention(rows, k[:, j], v[:, j], attn_mask=mask)
        outs.append(out.unflatten(1, (size, -1)))
    return torch.cat(outs, dim=1)


def grouped_rows_with_minus_1e9(q, k, v, mask=None):
    b, h, length, d = q.shape
    shared = k.size(1)
    scores = (q.reshape(b, shared, -1, d) @ k.mT).reshape(b, h, length, -1) * d**-0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    w = scores.softmax(dim=-1)
    if mask is not None:
        w = w * mask.any(-1, keepdim=True)
    return (w.reshape(b, shared, -1, k.size(2)) @ v).reshape(b, h, length, -1)


def grouped_by_bmm(q, k, v, mask=None):
    b, h, length, d = q.shape
    shared, s = k.shape[1:3]
    keys = k.reshape(b * shared, s, d).transpose(1, 2)
    scores = torch.bmm(q.reshape(b * shared, -1, d), keys).view(b, h, length, s) / math.sqrt(d)
    out = torch.bmm(_softmax(scores, mask).view(b * shared, -1, s), v.reshape(b * shared, s, -1))
    return out.view(b, h, length, -1)


def grouped_written_into_a_table(q, k, v, mask=None):
    group = q.shape[1] // k.shape[1]
    out = q.new_zeros(*q.shape[:3], v.shape[-1])
    whole = None if mask is None else mask.expand(*q.shape[:3], k.shape[2])
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h] @ k[b, h // group].T * q.shape[-1] ** -0.5
            out[b, h] = _softmax(scores, None if whole is None else whole[b, h]) @ v[b, h // group]
    return out


# sliding_window_attention


def window_token_by_token(query, key, value, window):
    rows = []
    for i in range(query.shape[2]):
        near = slice(max(0, i - window + 1), i + 1)
        scores = query[:, :, i : i + 1] @ key[:, :, near].mT / math.sqrt(query.shape[-1])
        rows.append(scores.softmax(-1) @ value[:, :, near])
    return torch.cat(rows, dim=2)


def window_by_unfold(q, k, v, window):
    w = min(window, q.shape[2])
    keys, values = (F.pad(x, (0, 0, w - 1, 0)).unfold(2, w, 1) for x in (k, v))
    scores = torch.einsum("bhld,bhldw->bhlw", q, keys) * q.shape[-1] ** -0.5
    place = torch.arange(q.shape[2])[:, None] + torch.arange(w) - (w - 1)
    weights = scores.masked_fill(place < 0, -torch.inf).softmax(-1)
    return torch.einsum("bhlw,bhldw->bhld", weights, values)


def window_by_gather(q, k, v, window):
    w = min(window, q.shape[2])
    place = torch.arange(q.shape[2])[:, None] - torch.arange(w)
    index = place.clamp(min=0)
    scores = (q.unsqueeze(3) * k[:, :, index]).sum(-1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores.where(place >= 0, -1e30), dim=-1)
    return (weights.unsqueeze(-1) * v[:, :, index]).sum(3)


def window_by_runs_and_torch(q, k, v, window, run=128):
    outs = []
    for start in range(0, q.shape[2], run):
        stop, low = min(start + run, q.shape[2]), max(0, start - window + 1)
        own, place = torch.arange(start, stop)[:, None], torch.arange(low, stop)
        mask = (place <= own) & (place > own - window)
        part = F.scaled_dot_product_attention(
            q[:, :, start:stop], k[:, :, low:stop], v[:, :, low:stop], attn_mask=mask
        )
        outs.append(part)
    return torch.cat(outs, 2)


def window_by_two_blocks(q, k, v, window):
    length = q.shape[2]
    w = min(window, length)
    fill = -length % w
    q, k, v = (F.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, w)) for x in (q, k, v))
    k2, v2 = (torch.cat([F.pad(x, (0, 0, 0, 0, 1, -1)), x], dim=3) for x in (k, v))
    i, j = torch.arange(w)[:, None] + w, torch.arange(2 * w)
    mask = ((j <= i) & (j > i - w)).repeat(q.shape[2], 1, 1)
    mask[0, :, :w] = False
    scores = (q @ k2.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~mask, float("-inf"))
    return (scores.softmax(-1) @ v2).flatten(2, 3)[:, :, :length]


def window_by_shifts(q, k, v, window):
    length = q.shape[2]
    scores, shifted = [], []
    for back in range(min(window, length)):
        keys = F.pad(k, (0, 0, back, 0))[:, :, :length]
        score = (q * keys).sum(-1) / math.sqrt(q.shape[-1])
        scores.append(score.masked_fill(torch.arange(length) < back, -torch.inf))
        shifted.append(F.pad(v, (0, 0, back, 0))[:, :, :length])
    weights = torch.stack(scores, -1).softmax(-1)
    return sum(weights[..., t : t + 1] * x for t, x in enumerate(shifted))


def window_written_into_a_table(q, k, v, window):
    out = torch.zeros_like(v)
    scale = q.size(-1) ** -0.5
    for start in range(0, q.size(2), window):
        stop, low = min(start + window, q.size(2)), max(0, start - window + 1)
        own, place = torch.arange(start, stop)[:, None], torch.arange(low, stop)[None]
        scores = q[:, :, start:stop] @ k[:, :, low:stop].transpose(2, 3) * scale
        scores = scores.masked_fill((place > own) | (own - place >= window), -1e30)
        out[:, :, start:stop] = scores.softmax(-1) @ v[:, :, low:stop]
    return out


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


# sink_attention


def sink_by_a_low_number(q, k, v, sink, mask=None):
    """-1e9 is low enough: beside a sink nothing is left for hidden keys, in an empty row either."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    column = torch.ones_like(scores[..., :1]) * sink.view(-1, 1, 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ v


def _hidden(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def sink_by_a_column(query, key, value, sink, attn_mask=None):
    scores = _hidden(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), attn_mask)
    column = sink.reshape(1, -1, 1, 1).expand(query.shape[0], -1, query.shape[2], 1)
    return F.softmax(torch.cat([scores, column], dim=-1), dim=-1)[..., :-1] @ value


def sink_in_front(q, k, v, sink, mask=None):
    scores = _hidden(torch.einsum("bhld,bhsd->bhls", q, k) * q.shape[-1] ** -0.5, mask)
    first = sink[None, :, None, None].repeat(q.shape[0], 1, q.shape[2], 1)
    return torch.cat((first, scores), -1).softmax(-1)[..., 1:] @ v


def sink_by_a_shift_over_both(q, k, v, sink, mask=None):
    scores = _hidden(q @ k.mT / q.shape[-1] ** 0.5, mask)
    own = sink.view(-1, 1, 1)
    peak = torch.maximum(scores.amax(-1, keepdim=True), own).detach()
    powers = torch.exp(scores - peak)
    return (powers @ v) / (powers.sum(-1, keepdim=True) + torch.exp(own - peak))


def sink_with_minus_1e9_and_in_place(q, k, v, sink, mask=None):
    b, h, length, s = *q.shape[:3], k.shape[2]
    scores = q.new_empty(b, h, length, s + 1)
    scores[..., :s] = q @ k.mT / math.sqrt(q.shape[-1])
    scores[..., s] = sink[:, None]
    if mask is not None:
        full = mask.expand(b, h, length, s)
        scores = torch.where(torch.cat((full, full.new_ones(b, h, length, 1)), -1), scores, -1e9)
    return scores.softmax(-1)[..., :s] @ v


def sink_as_a_key_without_a_value(q, k, v, sink, mask=None):
    """One more feature of the queries is 1, and the sink's key has its logit there."""
    b, h, length, d = q.shape
    asked = torch.cat((q, q.new_ones(b, h, length, 1)), -1)
    extra = torch.cat((k.new_zeros(b, h, 1, d), sink.view(1, h, 1, 1).expand(b, h, 1, 1)), -1)
    keys = torch.cat((F.pad(k, (0, 1)), extra * math.sqrt(d)), 2)
    values = F.pad(v, (0, 0, 0, 1))
    if mask is not None:
        mask = F.pad(mask.expand(b, h, length, k.shape[2]), (0, 1), value=True)
    return F.scaled_dot_product_attention(asked, keys, values, mask, scale=1 / math.sqrt(d))


def sink_as_a_gate(q, k, v, sink, mask=None):
    scores = _hidden(q @ k.mT / q.shape[-1] ** 0.5, mask)
    lse = scores.logsumexp(-1, keepdim=True)
    return _softmax(scores, mask) @ v * (lse - sink[:, None, None]).sigmoid()


def sink_by_log_weights(q, k, v, sink, mask=None):
    scores = _hidden(q @ k.mT / q.shape[-1] ** 0.5, mask)
    below = torch.logaddexp(scores.logsumexp(-1, keepdim=True), sink[:, None, None])
    return (scores - below).exp() @ v


def sink_head_by_head(q, k, v, sink, mask=None):
    full = None if mask is None else mask.expand(*q.shape[:3], k.shape[2])
    outs = []
    for h in range(q.shape[1]):
        scores = _hidden(
            q[:, h] @ k[:, h].mT * q.shape[-1] ** -0.5, full if full is None else full[:, h]
        )
        table = F.pad(scores, (0, 1)) + F.pad(sink[h].view(1), (scores.shape[-1], 0))
        outs.append(table.softmax(-1)[..., :-1] @ v[:, h])
    return torch.stack(outs, dim=1)


# absorbed_latent_attention


def absorbed_sequence_by_sequence(query, cache, W_uk, W_uv, attn_mask=None):
    r, d_k = W_uk.shape[1:]
    outs = []
    for n, (q, rows) in enumerate(zip(query, cache, strict=True)):
        scores = torch.cat((q[..., :d_k] @ W_uk.mT, q[..., d_k:]), -1) @ rows.T
        mask = attn_mask
        if mask is not None:
            mask = mask.expand(len(query), *scores.shape)[n]
        weights = _softmax(scores / math.sqrt(q.shape[-1]), mask)
        outs.append(weights @ rows[:, :r] @ W_uv)
    return torch.stack(outs)


def absorbed_by_einsum(query, cache, W_uk, W_uv, attn_mask=None):
    r, d_k = W_uk.shape[1:]
    asked = torch.einsum("bhlk,hrk->bhlr", query[..., :d_k], W_uk)
    scores = torch.einsum("bhlr,bsr->bhls", asked, cache[..., :r])
    scores = scores + torch.einsum("bhlp,bsp->bhls", query[..., d_k:], cache[..., r:])
    weights = _softmax(scores / math.sqrt(query.shape[-1]), attn_mask)
    mean = torch.einsum("bhls,bsr->bhlr", weights, cache[..., :r])
    return torch.einsum("bhlr,hrv->bhlv", mean, W_uv)


def absorbed_by_rows(q, cache, W_uk, W_uv, mask=None):
    b, h, length, d = q.shape
    r, d_k = W_uk.shape[1:]
    asked = torch.cat((q[..., :d_k] @ W_uk.transpose(1, 2), q[..., d_k:]), -1) * d**-0.5
    scores = torch.bmm(asked.reshape(b, h * length, -1), cache.transpose(1, 2))
    weights = _softmax(scores.view(b, h, length, -1), mask)
    mean = torch.bmm(weights.reshape(b, h * length, -1), cache[..., :r])
    return mean.view(b, h, length, r) @ W_uv


def absorbed_through_sdpa(q, cache, W_uk, W_uv, mask=None):
    b, h, length, d = q.shape
    r, d_k = W_uk.shape[1:]
    rows = torch.cat((q[..., :d_k] @ W_uk.mT, q[..., d_k:]), -1).flatten(1, 2)
    if mask is not None:
        mask = mask.expand(b, h, length, cache.shape[1]).flatten(1, 2)
    mean = F.scaled_dot_product_attention(rows, cache, cache[..., :r], mask, scale=d**-0.5)
    return mean.unflatten(1, (h, length)) @ W_uv


def absorbed_query_by_query_of_a_head(q, cache, W_uk, W_uv, mask=None):
    r, d_k = W_uk.shape[1:]
    full = None if mask is None else mask.expand(*q.shape[:3], cache.shape[1])
    outs = []
    for h in range(q.shape[1]):
        scores = (q[:, h, :, :d_k] @ W_uk[h].T) @ cache[..., :r].mT + q[:, h, :, d_k:] @ cache[
            ..., r:
        ].mT
        weights = _softmax(scores / math.sqrt(q.shape[-1]), full if full is None else full[:, h])
        outs.append((weights @ cache[..., :r]) @ W_uv[h])
    return torch.stack(outs, 1)


def absorbed_written_into_a_table(q, cache, W_uk, W_uv, mask=None):
    r, d_k = W_uk.shape[1:]
    out = q.new_zeros(*q.shape[:3], W_uv.shape[-1])
    full = None if mask is None else mask.expand(*q.shape[:3], cache.shape[1])
    for b in range(q.shape[0]):
        asked = torch.cat((torch.bmm(q[b, ..., :d_k], W_uk.mT), q[b, ..., d_k:]), dim=-1)
        scores = asked @ cache[b].T / math.sqrt(q.shape[-1])
        weights = _softmax(scores, None if full is None else full[b])
        out[b] = torch.bmm(weights @ cache[b, :, :r], W_uv)
    return out


# block_selected_attention


def blocks_query_by_query(query, key, value, block, top_k):
    b, h, length, d = query.shape
    out = torch.zeros_like(value)
    means = [key[:, :, s : s + block].mean(2) for s in range(0, length, block)]
    for i in range(length):
        own = i // block
        near = torch.arange(own * block, i + 1)
        for n in range(b):
            for m in range(h):
                q, places = query[n, m, i], near
                if own and top_k:
                    fit = torch.stack([mean[n, m] @ q for mean in means[:own]])
                    best = fit.topk(min(top_k, own)).indices
                    far = (best[:, None] * block + torch.arange(block)).flatten()
                    places = torch.cat([far, near])
                weights = (key[n, m, places] @ q / math.sqrt(d)).softmax(0)
                out[n, m, i] = weights @ value[n, m, places]
    return out


def blocks_by_runs_of_queries(q, k, v, block, top_k):
    whole = q.shape[2] // block
    kb, vb = (x[:, :, : whole * block].unflatten(2, (whole, block)) for x in (k, v))
    outs = []
    for n, start in enumerate(range(0, q.shape[2], block)):
        rows = slice(start, start + block)
        asked = q[:, :, rows] * q.shape[-1] ** -0.5
        scores = (asked @ k[:, :, rows].mT).masked_fill(
            torch.ones(asked.shape[2], asked.shape[2]).triu(1).bool(), -torch.inf
        )
        count = min(top_k, n)
        best = torch.einsum("bhld,bhnd->bhln", asked, kb[:, :, :n].mean(3)).topk(count, -1)[1]
        index = best.flatten(2)[..., None, None].expand(-1, -1, -1, block, q.shape[-1])
        keys = kb.gather(2, index).unflatten(2, (-1, count)).flatten(3, 4) if count else None
        if count:
            far = torch.einsum("bhld,bhlsd->bhls", asked, keys)
            weights = torch.cat([far, scores], -1).softmax(-1)
            index = best.flatten(2)[..., None, None].expand(-1, -1, -1, block, v.shape[-1])
            values = vb.gather(2, index).unflatten(2, (-1, count)).flatten(3, 4)
            size = far.shape[-1]
            out = torch.einsum("bhls,bhlsv->bhlv", weights[..., :size], values)
            outs.append(out + weights[..., size:] @ v[:, :, rows])
        else:
            outs.append(scores.softmax(-1) @ v[:, :, rows])
    return torch.cat(outs, 2)


def blocks_all_at_once(q, k, v, block, top_k):
    b, h, length, d = q.shape
    count = math.ceil(length / block)
    full = count * block
    keys, values = (F.pad(x, (0, 0, 0, full - length)) for x in (k, v))
    place, number = torch.arange(length), torch.arange(count)
    own = place // block
    fit = q.detach() @ keys.detach().view(b, h, count, block, d).mean(3).mT
    fit = fit.masked_fill(number >= own[:, None], float("-inf"))
    found = fit.topk(min(top_k, count), dim=-1)
    read = torch.cat((found.indices, own[:, None].expand(b, h, length, 1)), -1)
    good = torch.cat((found.values > float("-inf"), torch.ones(b, h, length, 1) > 0), -1)
    at = (read[..., None] * block + torch.arange(block)).flatten(-2)
    seen = good.repeat_interleave(block, -1) & (at <= place[:, None])
    flat = at.flatten(2).unsqueeze(-1)
    near = keys.gather(2, flat.expand(-1, -1, -1, d)).view(b, h, length, -1, d)
    mine = values.gather(2, flat.expand(-1, -1, -1, v.shape[-1])).view(
        b, h, length, -1, v.shape[-1]
    )
    scores = (near * q.unsqueeze(3)).sum(-1) / math.sqrt(d)
    return (scores.masked_fill(~seen, -1e30).softmax(-1).unsqueeze(-1) * mine).sum(3)


def blocks_through_sdpa(q, k, v, block, top_k):
    length = q.shape[2]
    outs = []
    for i in range(length):
        own = i // block
        start, asked = own * block, q[:, :, i : i + 1]
        near, mine = k[:, :, start : i + 1], v[:, :, start : i + 1]
        if own and top_k:
            past = k[:, :, :start].unflatten(2, (own, block))
            best = (asked @ past.mean(3).mT).squeeze(2).topk(min(top_k, own), -1).indices
            index = best[..., None, None]
            far = past.take_along_dim(index, 2).flatten(2, 3)
            theirs = (
                v[:, :, :start].unflatten(2, (own, block)).take_along_dim(index, 2).flatten(2, 3)
            )
            near, mine = torch.cat((far, near), 2), torch.cat((theirs, mine), 2)
        outs.append(F.scaled_dot_product_attention(asked, near, mine))
    return torch.cat(outs, 2)


def blocks_by_two_softmaxes_merged(q, k, v, block, top_k):
    """Each block's sum and maximum apart, merged as online softmax does."""
    length, d = q.shape[2], q.shape[-1]
    outs = []
    for start in range(0, length, block):
        asked, n = q[:, :, start : start + block] / math.sqrt(d), start // block
        scores = asked @ k[:, :, start : start + block].mT
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
        peak = scores.amax(-1, keepdim=True)
        powers = (scores - peak).exp()
        top, bottom = powers @ v[:, :, start : start + block], powers.sum(-1, keepdim=True)
        if n and top_k:
            past = k[:, :, :start].unflatten(2, (n, block))
            theirs = v[:, :, :start].unflatten(2, (n, block))
            best = (asked @ past.mean(3).mT).argsort(-1, descending=True)[..., :top_k]
            for j in range(best.shape[-1]):
                index = best[..., j, None, None]
                far = past.take_along_dim(index, 2)
                line = (far @ asked.unsqueeze(-1)).squeeze(-1)
                high = torch.maximum(peak, line.amax(-1, keepdim=True))
                more, old = (line - high).exp(), (peak - high).exp()
                found = (more.unsqueeze(-2) @ theirs.take_along_dim(index, 2)).squeeze(-2)
                top, bottom, peak = (
                    top * old + found,
                    bottom * old + more.sum(-1, keepdim=True),
                    high,
                )
        outs.append(top / bottom)
    return torch.cat(outs, 2)


# kv_cache_bytes


def bytes_by_product(*sizes):
    return 2 * math.prod(sizes)


def bytes_of_keys_and_of_values(num_layers, num_kv_heads, d_k, num_tokens, batch, size):
    keys = num_layers * num_kv_heads * d_k * num_tokens * batch * size
    values = num_layers * num_kv_heads * d_k * num_tokens * batch * size
    return keys + values


def bytes_layer_by_layer(layers, heads, d, tokens, batch, size):
    total = 0
    for _ in range(layers):
        for _ in ("key", "value"):
            total += batch * heads * tokens * d * size
    return total


def bytes_of_a_shape(layers, heads, d, tokens, batch, size):
    return layers * 2 * torch.empty(batch, heads, tokens, d, device="meta").numel() * size


def bytes_by_numpy(layers, heads, d, tokens, batch, size):
    return int(np.prod([2, layers, heads, d, tokens, batch, size], dtype=np.int64))


# strided_mask


def strided_by_loops(n, stride):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = i - j < stride or (i - j) % stride == 0
    return mask


def strided_by_slices(n, stride):
    mask = torch.zeros((n, n), dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - stride + 1) : i + 1] = True
        mask[i, i % stride : i + 1 : stride] = True
    return mask


def strided_by_remainders(n, stride):
    place = torch.arange(n)
    far = (place % stride)[:, None] == (place % stride)[None]
    near = torch.ones(n, n).triu(1 - stride).bool()
    return (far | near).tril()


def strided_by_diagonals(n, stride):
    mask = np.zeros((n, n), dtype=bool)
    for back in range(n):
        if back < stride or back % stride == 0:
            mask |= np.eye(n, k=-back, dtype=bool)
    return torch.from_numpy(mask)


def strided_by_lists(L, s):
    return torch.tensor(
        [[j in {*range(i - s + 1, i + 1), *range(i, -1, -s)} for j in range(L)] for i in range(L)]
    )


# fixed_mask


def fixed_by_loops(n, block, summary):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = i // block == j // block or j % block >= block - summary
    return mask


def fixed_by_slices(n, block, summary):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        start = i // block * block
        mask[i, start : i + 1] = True
        for end in range(block, start + 1, block):
            mask[i, end - summary : end] = True
    return mask


def fixed_by_block_diagonal(n, block, summary):
    count = -(-n // block)
    own = torch.kron(torch.eye(count), torch.ones(block, block))[:n, :n] > 0
    one = torch.arange(block) >= block - summary
    return (own | one.repeat(count)[:n]).tril()


def fixed_by_floor(n, block, summary):
    place = torch.arange(n)
    number = torch.div(place, block, rounding_mode="floor")
    rest = place - number * block
    seen = number[:, None].eq(number) | (rest + summary >= block)[None, :]
    return torch.logical_and(seen, place[:, None] >= place)


def fixed_by_lists(n, b, c):
    rows = [[j <= i and (i // b == j // b or b - j % b <= c) for j in range(n)] for i in range(n)]
    return torch.tensor(rows)


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


# choose_keys


def _turned(x, positions, base):
    """As in transformers: two halves, the second with the other sign in front."""
    d = x.shape[-1]
    inverse = 1.0 / base ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = positions[:, None] * inverse
    cos, sin = (torch.cat((f(angles),) * 2, -1) for f in (torch.cos, torch.sin))
    half = torch.cat((-x[..., d // 2 :], x[..., : d // 2]), -1)
    return x * cos + half * sin


def keys_by_hugging_face(query, key, head_weights, top_k, base=10000.0):
    batch, heads, length, d = query.shape
    q = _turned(query, torch.arange(length), base).transpose(1, 2)
    k = _turned(key, torch.arange(length), base)
    scores = F.relu(torch.matmul(q, k.transpose(-1, -2).unsqueeze(1)) * d**-0.5)
    weights = head_weights.transpose(1, 2) * heads**-0.5
    index = torch.matmul(weights.unsqueeze(-2), scores).squeeze(-2)
    causal = torch.full((length, length), -torch.inf).triu(1)
    picked = (index + causal).topk(min(top_k, length), dim=-1).indices
    hidden = torch.ones(batch, length, length, dtype=torch.bool).scatter_(-1, picked, False)
    return ~(hidden | (causal < 0))


def keys_query_by_query(query, key, head_weights, top_k, base=10000.0):
    mask = torch.zeros(len(key), key.shape[1], key.shape[1], dtype=torch.bool)
    places = torch.arange(key.shape[1]) + 3  # distances alone count
    q, k = _turned(query, places, base), _turned(key, places, base)
    for b in range(len(key)):
        for t in range(key.shape[1]):
            products = k[b, : t + 1] @ q[b, :, t].T
            scores = products.clamp(min=0) @ head_weights[b, :, t]
            mask[b, t, scores.argsort(descending=True)[:top_k]] = True
    return mask


def keys_by_complex_numbers(query, key, head_weights, top_k, base=10000.0):
    half = key.shape[-1] // 2
    rates = base ** (-torch.arange(half, dtype=torch.float64) / half)
    turns = torch.polar(torch.ones(1, half, dtype=torch.float64), torch.outer(
        torch.arange(key.shape[1], dtype=torch.float64), rates))  # fmt: skip
    q, k = (torch.complex(x[..., :half].double(), x[..., half:].double()) * turns
            for x in (query, key))  # fmt: skip
    products = torch.einsum("bhtc,bsc->bhts", q, k.conj()).real
    scores = torch.einsum("bht,bhts->bts", head_weights.double(), products.relu())
    past = torch.arange(key.shape[1])[:, None] >= torch.arange(key.shape[1])
    rank = scores.where(past, -torch.inf).argsort(dim=-1, descending=True).argsort(-1)
    return (rank < top_k) & past


def keys_by_the_last_that_fits(query, key, head_weights, top_k, base=10000.0):
    """The `top_k`-th largest score is a threshold; a positive factor changes no choice."""
    at = torch.arange(key.shape[1])
    products = _turned(query, at, base) @ _turned(key, at, base)[:, None].mT
    scores = (head_weights[..., None] * products.clamp(min=0.0)).mean(1)
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    scores = scores.masked_fill(~past, -torch.inf)
    edge = scores.sort(-1, descending=True).values[..., min(top_k, len(at)) - 1, None]
    return past & (scores >= edge)


RIGHT_WAYS_CH08 = {
    "choose_keys": (
        keys_by_hugging_face,
        keys_query_by_query,
        keys_by_complex_numbers,
        keys_by_the_last_that_fits,
    ),
    "grouped_query_attention": (
        grouped_by_einsum,
        grouped_head_by_head,
        grouped_by_torch_inside_each_group,
        grouped_rows_with_minus_1e9,
        grouped_by_bmm,
        grouped_written_into_a_table,
    ),
    "sink_attention": (
        sink_by_a_low_number,
        sink_by_a_column,
        sink_in_front,
        sink_by_a_shift_over_both,
        sink_with_minus_1e9_and_in_place,
        sink_as_a_key_without_a_value,
        sink_as_a_gate,
        sink_by_log_weights,
        sink_head_by_head,
    ),
    "absorbed_latent_attention": (
        absorbed_sequence_by_sequence,
        absorbed_by_einsum,
        absorbed_by_rows,
        absorbed_through_sdpa,
        absorbed_query_by_query_of_a_head,
        absorbed_written_into_a_table,
    ),
    "block_selected_attention": (
        blocks_query_by_query,
        blocks_by_runs_of_queries,
        blocks_all_at_once,
        blocks_through_sdpa,
        blocks_by_two_softmaxes_merged,
    ),
    "kv_cache_bytes": (
        bytes_by_product,
        bytes_of_keys_and_of_values,
        bytes_layer_by_layer,
        bytes_of_a_shape,
        bytes_by_numpy,
    ),
    "sliding_window_attention": (
        window_token_by_token,
        window_by_unfold,
        window_by_gather,
        window_by_runs_and_torch,
        window_by_two_blocks,
        window_by_shifts,
        window_written_into_a_table,
    ),
    "strided_mask": (
        strided_by_loops,
        strided_by_slices,
        strided_by_remainders,
        strided_by_diagonals,
        strided_by_lists,
    ),
    "fixed_mask": (
        fixed_by_loops,
        fixed_by_slices,
        fixed_by_block_diagonal,
        fixed_by_floor,
        fixed_by_lists,
    ),
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
