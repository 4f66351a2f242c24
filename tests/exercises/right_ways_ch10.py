"""Right answers to the exercises of chapter 10 in other styles."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# append_kv


def append_row_by_row(cache_key, cache_value, length, key, value):
    if length + key.size(2) > cache_key.size(2):
        raise ValueError("no room")
    for t in range(key.size(2)):
        cache_key[:, :, length + t] = key[:, :, t]
        cache_value[:, :, length + t] = value[:, :, t]
    return length + key.size(2)


def append_by_copy(ck, cv, n, k, v):
    new = k.shape[-2]
    if ck.shape[-2] - n < new:
        raise ValueError(f"{new} tokens do not fit behind {n} of {ck.shape[-2]}")
    ck.narrow(2, n, new).copy_(k)
    cv.narrow(2, n, new).copy_(v)
    return n + new


def append_by_index(ck, cv, n, k, v):
    slots = torch.arange(n, n + k.shape[2])
    if len(slots) and int(slots[-1]) >= ck.shape[2]:
        raise ValueError("full")
    ck.index_copy_(2, slots, k)
    cv.index_copy_(2, slots, v)
    return int(slots[-1]) + 1


def append_by_scatter(ck, cv, n, k, v):
    end = n + k.shape[2]
    if not end <= ck.shape[2]:
        raise ValueError
    index = torch.arange(n, end).view(1, 1, -1, 1).expand_as(k)
    ck.scatter_(2, index, k)
    cv.scatter_(2, index, v)
    return end


class FullError(ValueError):
    pass


def append_both_at_once(ck, cv, n, k, v):
    *_, new, _ = k.shape
    if n + new > ck.shape[2]:
        raise FullError("the cache is full")
    for cache, fresh in ((ck, k), (cv, v)):
        cache[..., n : n + new, :].copy_(fresh)
    return n + new


def append_by_put(ck, cv, n, k, v):
    if any(n + i >= ck.shape[2] for i in range(k.shape[2])):
        raise ValueError("full")
    slots = [n + i for i in range(k.shape[2])]
    with torch.no_grad():
        ck[:, :, slots], cv[:, :, slots] = k, v
    return n + len(slots)


# decode_step


def step_by_torch(query, ck, cv, length):
    new = query.shape[2]
    mask = torch.ones(new, length, dtype=torch.bool).tril(length - new)
    return F.scaled_dot_product_attention(query, ck[:, :, :length], cv[:, :, :length], mask)


def step_with_minus_1e9(query, ck, cv, length):
    k, v = ck[:, :, :length], cv[:, :, :length]
    s = query @ k.transpose(-2, -1) / math.sqrt(query.size(-1))
    own = torch.arange(length - query.size(2), length)
    later = torch.arange(length)[None, :] > own[:, None]
    return torch.softmax(s.masked_fill(later, -1e9), dim=-1) @ v


def step_query_by_query(query, ck, cv, length):
    outs = []
    for t in range(query.shape[2]):
        seen = length - query.shape[2] + t + 1
        row = query[:, :, t : t + 1]
        w = F.softmax((row * ck[:, :, :seen]).sum(-1) / query.shape[-1] ** 0.5, dim=-1)
        outs.append((w.unsqueeze(-1) * cv[:, :, :seen]).sum(2))
    return torch.stack(outs, dim=2)


def step_by_einsum(q, ck, cv, n):
    k, v = ck.narrow(2, 0, n), cv.narrow(2, 0, n)
    s = torch.einsum("bhtd,bhsd->bhts", q, k) * q.shape[-1] ** -0.5
    s = s + torch.full((q.shape[2], n), -math.inf, dtype=s.dtype).triu(n - q.shape[2] + 1)
    return torch.einsum("bhts,bhsd->bhtd", s.softmax(-1), v)


def step_by_parts(q, ck, cv, n):
    """The past without a mask, the chunk with one, and one softmax over both."""
    past, new = n - q.shape[2], q.shape[2]
    q = q / math.sqrt(q.shape[-1])
    before = q @ ck[:, :, :past].mT
    inside = (q @ ck[:, :, past:n].mT).masked_fill(~torch.ones(new, new).tril().bool(), -torch.inf)
    w = torch.cat([before, inside], -1).softmax(-1)
    return w[..., :past] @ cv[:, :, :past] + w[..., past:] @ cv[:, :, past:n]


def step_with_free_slots_emptied(q, ck, cv, n):
    """Reads all slots, after what the free ones hold was replaced in a copy."""
    slots = torch.arange(ck.shape[2])
    free = (slots >= n).unsqueeze(-1)
    k, v = ck.masked_fill(free, 0.0), cv.masked_fill(free, 0.0)
    own = torch.arange(n - q.shape[2], n).unsqueeze(-1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=slots <= own)


def step_head_by_head(q, ck, cv, n):
    out = torch.empty_like(q)
    mask = torch.ones(q.shape[2], n).triu(n - q.shape[2] + 1).bool()
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h] @ ck[b, h, :n].T / q.shape[-1] ** 0.5
            out[b, h] = scores.masked_fill(mask, -torch.inf).softmax(-1) @ cv[b, h, :n]
    return out


# rolling_cache_positions


def positions_by_a_filter(num_seen, window, num_sinks):
    return [i for i in range(num_seen) if i < num_sinks or i >= num_seen - window]


def positions_by_sets(n, w, s):
    return sorted(set(range(min(s, n))) | set(range(max(n - w, 0), n)))


def positions_by_eviction(num_seen, window, num_sinks):
    held = []
    for position in range(num_seen):
        held.append(position)
        if len(held) > num_sinks + window:
            del held[num_sinks]
    return held


def positions_by_tensor(n, w, s):
    every = torch.arange(n)
    return every[(every < s) | (every > n - w - 1)].tolist()


def positions_by_slices(n, w, s):
    every = list(range(n))
    return every[:s] + every[max(s, n - w) :]


def positions_by_numpy(n, w, s):
    joined = np.union1d(np.arange(min(n, s)), np.arange(max(0, n - w), n))
    return [int(p) for p in joined]


# cache_fits


def fits_by_floor(gib, layers, heads, d_k, size, batch):
    return math.floor(gib * 1024**3 / (2 * layers * heads * d_k * size * batch))


def fits_by_steps(gib, num_layers, num_kv_heads, d_k, bytes_per_element, batch):
    vector = d_k * bytes_per_element
    layer = 2 * num_kv_heads * vector
    return int(gib * 2**30 // (layer * num_layers * batch))


def fits_tokens_then_batch(gib, layers, heads, d_k, size, batch):
    tokens = int(gib * (1 << 30)) // (layers * heads * d_k * size * 2)
    return tokens // batch


def fits_sequence_first(gib, layers, heads, d_k, size, batch):
    share = gib * 2**30 / batch
    return int(share / (2 * size * d_k * heads * layers))


def fits_by_search(gib, layers, heads, d_k, size, batch):
    low, high = 0, 1 << 50
    while low < high:
        middle = (low + high + 1) // 2
        if 2 * layers * heads * d_k * size * batch * middle <= gib * 2**30:
            low = middle
        else:
            high = middle - 1
    return low


# paged_gather


def gather_by_blocks(pool, block_table, length):
    size = pool.shape[1]
    return pool[block_table[: math.ceil(length / size)]].flatten(0, 1)[:length]


def gather_by_positions(pool, block_table, length):
    place = torch.arange(length)
    return pool[block_table[place // pool.shape[1]], place % pool.shape[1]]


def gather_row_by_row(pool, table, length):
    rows = []
    for i in range(length):
        block, slot = divmod(i, pool.shape[1])
        rows.append(pool[int(table[block]), slot])
    return torch.stack(rows) if rows else pool[:0, 0]


def gather_block_by_block(pool, table, length):
    parts, left = [pool[0, :0]], length
    for block in table.tolist():
        if left <= 0:
            break
        parts.append(pool[block, : min(left, pool.size(1))])
        left -= pool.size(1)
    return torch.cat(parts, dim=0)


def gather_all_then_cut(pool, block_table, length):
    """-1 reads the last block; those rows are behind the end and are cut."""
    return pool[block_table].reshape(-1, *pool.shape[2:])[:length]


def gather_by_embedding(pool, table, length):
    rows = pool.reshape(-1, pool.shape[2] * pool.shape[3])
    place = torch.arange(length)
    index = table[place // pool.shape[1]] * pool.shape[1] + place % pool.shape[1]
    return F.embedding(index, rows).view(length, *pool.shape[2:])


def gather_into_a_table(pool, table, length):
    out = pool.new_empty(length, *pool.shape[2:])
    for start in range(0, length, pool.shape[1]):
        stop = min(start + pool.shape[1], length)
        out[start:stop] = pool[table[start // pool.shape[1]], : stop - start]
    return out


def gather_by_index_select(pool, table, length):
    real = table.clamp(min=0)
    return torch.index_select(pool, 0, real).flatten(0, 1).narrow(0, 0, length)


# quantize_kv


def quantize_plainly(x):
    scale = x.abs().max(dim=-1, keepdim=True).values / 127
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    return torch.round(x.double() / scale.double()).to(torch.int8), scale


def quantize_by_numbers_first(x):
    top = x.abs().amax(-1, keepdim=True)
    scale = (top / 127.0).masked_fill(top == 0, 1.0)
    return x.detach().double().div(scale).round().clip(-127, 127).char(), scale


def quantize_row_by_row(x):
    q, scales = torch.empty(x.shape, dtype=torch.int8), []
    for b, h, s in np.ndindex(*x.shape[:3]):
        row = x[b, h, s]
        top = row.abs().max()
        scale = top / 127 if top > 0 else torch.ones((), dtype=x.dtype) + 0 * top
        q[b, h, s] = (row.double() / scale.double()).detach().round()
        scales.append(scale)
    return q, torch.stack(scales).view(*x.shape[:3], 1)


def quantize_by_norm(x):
    scale = x.norm(p=torch.inf, dim=-1, keepdim=True) / 127
    scale = scale + (scale == 0)
    return [(x.double() / scale.double()).round().to(torch.int8), scale]


def quantize_by_both_ends(x):
    top = torch.maximum(x.amax(-1), -x.amin(-1))[..., None]
    empty = ~x.any(-1, keepdim=True)
    scale = torch.where(empty, 1.0, top / 127)
    q = torch.clamp(torch.round(x.double() / scale.double()), -127, 127)
    return q.type(torch.int8), scale


def quantize_half_away_from_zero(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    scale = torch.where(scale > 0, scale, 1.0)
    steps = x.double() / scale.double()
    return (steps.sign() * (steps.abs() + 0.5).floor()).to(torch.int8), scale


# greedy_decode


def greedy_with_a_table(model, prompt, num_tokens):
    out = torch.empty(prompt.shape[0], num_tokens, dtype=torch.long)
    step, cache = prompt, None
    for i in range(num_tokens):
        logits, cache = model(step, cache)
        out[:, i] = logits[:, -1].argmax(dim=-1)
        step = out[:, i : i + 1]
    return out


def greedy_token_by_token(model, prompt, num_tokens):
    """The prompt is read one token at a time, and the last new token too."""
    cache, written = None, []
    for token in prompt.split(1, dim=1):
        logits, cache = model(token, cache)
    for _ in range(num_tokens):
        token = logits[:, -1].topk(1).indices
        written.append(token)
        logits, cache = model(token, cache)
    return torch.cat([prompt[:, :0], *written], dim=-1)


def greedy_prompt_in_two_pieces(model, prompt, num_tokens):
    cache = None
    if prompt.shape[1] > 1:
        _, cache = model(prompt[:, :-1], cache)
    text = prompt
    for _ in range(num_tokens):
        logits, cache = model(text[:, -1:], cache)
        text = torch.cat((text, logits[:, -1].max(-1, keepdim=True).indices), dim=1)
    return text[:, prompt.shape[1] :]


@torch.no_grad()
def greedy_by_softmax(model, prompt, n):
    if n == 0:
        return torch.zeros((len(prompt), 0), dtype=torch.long)
    logits, cache = model(prompt, None)
    new = [logits.log_softmax(-1)[:, -1].argmax(-1)]
    while len(new) < n:
        logits, cache = model(new[-1].unsqueeze(1), cache)
        new.append(logits.softmax(-1)[:, -1].argmax(-1))
    return torch.stack(new, dim=1)


def greedy_by_recursion(model, prompt, num_tokens, cache=None):
    if num_tokens == 0:
        return prompt.new_zeros(prompt.shape[0], 0)
    logits, cache = model(prompt, cache)
    new = torch.argmax(logits[:, -1, :], -1)[:, None]
    return torch.hstack([new, greedy_by_recursion(model, new, num_tokens - 1, cache)])


def greedy_sequence_by_sequence(model, prompt, num_tokens):
    rows = []
    for text in prompt.split(1):
        cache, row, new = None, [text[:, :0]], text
        for _ in range(num_tokens):
            logits, cache = model(new, cache)
            new = logits[:, -1:].argmax(-1)
            row.append(new)
        rows.append(torch.cat(row, dim=1))
    return torch.cat(rows)


class Writer(nn.Module):
    def forward(self, model, prompt, num_tokens):
        tokens, cache, rows = prompt, None, []
        for _ in range(num_tokens):
            logits, cache = model(tokens, cache)
            rows.append([int(row.argmax()) for row in logits[:, -1]])
            tokens = torch.tensor(rows[-1]).view(-1, 1)
        return torch.tensor(rows, dtype=torch.long).view(num_tokens, len(prompt)).T


greedy_module = Writer()
greedy_module.__name__ = "greedy_module"


# speculative_accept


def accept_by_recursion(tokens, q, p, u, done=0):
    if len(tokens) > 0 and u[0] < p[0, tokens[0]] / q[0, tokens[0]]:
        return accept_by_recursion(tokens[1:], q[1:], p[1:], u[1:], done + 1)
    rest = F.relu(p[0] - q[0]) if len(tokens) > 0 else p[0]
    sums = rest.cumsum(0)
    return [done, int(torch.searchsorted(sums, u[-1] * sums[-1], right=True))]


def accept_by_a_loop(draft_tokens, draft_probs, target_probs, uniforms):
    k = len(draft_tokens)
    for t in range(k):
        x = int(draft_tokens[t])
        if uniforms[t] >= target_probs[t, x] / draft_probs[t, x]:
            rest = torch.clamp(target_probs[t] - draft_probs[t], min=0)
            rest = rest / rest.sum()
            return t, int(torch.searchsorted(rest.cumsum(-1), uniforms[k], right=True))
    return k, int(torch.searchsorted(target_probs[k].cumsum(-1), uniforms[k], right=True))


def accept_at_once(tokens, q, p, u):
    k = tokens.shape[0]
    rows = torch.arange(k)
    stays = u[:k] < p[rows, tokens] / q[rows, tokens]
    n = int(torch.cumprod(stays.int(), 0).sum())
    q = torch.cat([q, torch.zeros_like(p[:1])])
    rest = F.relu(p[n] - q[n])
    sums = torch.cumsum(rest, 0)
    return n, int(torch.nonzero(sums > u[-1] * sums[-1])[0])


def accept_with_for_else(tokens, q, p, u):
    for n, x in enumerate(tokens.tolist()):
        if not u[n] < p[n][x] / q[n][x]:
            rest = np.maximum(0, (p[n] - q[n]).numpy())
            break
    else:
        n, rest = len(tokens), p[-1].numpy()
    return n, int(np.argmax(np.cumsum(rest) > float(u[-1]) * np.cumsum(rest)[-1]))


def accept_in_plain_python(tokens, q, p, u):
    tokens, q, p, u = (one.double().tolist() for one in (tokens, q, p, u))
    n = 0
    while n < len(tokens) and u[n] * q[n][int(tokens[n])] < p[n][int(tokens[n])]:
        n += 1
    rest = p[n] if n == len(tokens) else [max(0.0, a - b) for a, b in zip(p[n], q[n], strict=True)]
    aim, seen = u[-1] * sum(rest), 0.0
    for token, chance in enumerate(rest):
        seen += chance
        if seen > aim:
            return n, token
    return n, max(token for token, chance in enumerate(rest) if chance > 0)


def accept_by_the_first_refusal(tokens, q, p, u):
    ratio = p[:-1].gather(1, tokens[:, None])[:, 0] / q.gather(1, tokens[:, None])[:, 0]
    refused = (u[:-1] >= ratio.clamp(max=1.0)).nonzero().flatten().tolist()
    n = refused[0] if refused else len(tokens)
    rest = torch.where(p[n] > q[n], p[n] - q[n], 0.0) if refused else p[n]
    return n, int((rest.cumsum(0) <= u[-1] * rest.sum()).sum())


def accept_by_subtracting(tokens, q, p, u):
    n = 0
    for x, row, other, r in zip(tokens, q, p, u, strict=False):
        if r * row[x] >= other[x]:
            break
        n += 1
    rest = p[n].clone()
    if n < len(tokens):
        rest -= q[n]
        rest[rest < 0] = 0
    left, chosen = u[-1] * rest.sum(), 0
    for chosen, chance in enumerate(rest):  # noqa: B007
        left = left - chance
        if left < 0:
            break
    return n, chosen


# reorder_cache


def reorder_by_recursion(ck, cv, n, beams, row=0):
    """Each call remembers its own row, and writes when all others have been read."""
    if row < len(beams):
        key, value = ck[beams[row], :, :n].clone(), cv[beams[row], :, :n].clone()
        reorder_by_recursion(ck, cv, n, beams, row + 1)
        ck[row, :, :n], cv[row, :, :n] = key, value


def reorder_by_index(cache_key, cache_value, length, beams):
    cache_key[:, :, :length] = cache_key[beams, :, :length]
    cache_value[:, :, :length] = cache_value[beams, :, :length]


def reorder_by_select(ck, cv, n, beams):
    for cache in (ck, cv):
        filled = cache.narrow(2, 0, n)
        filled.copy_(filled.index_select(0, beams))
    return ck, cv


def reorder_row_by_row(ck, cv, n, beams):
    old_key, old_value = ck.clone(), cv.clone()
    for row in range(len(beams)):
        ck[row, :, :n] = old_key[beams[row], :, :n]
        cv[row, :, :n] = old_value[beams[row], :, :n]


def reorder_by_gather(ck, cv, n, beams):
    for cache in (ck, cv):
        part = cache[:, :, :n]
        index = beams.view(-1, 1, 1, 1).expand(part.shape)
        part[:] = torch.gather(part, 0, index)


def reorder_by_lists(ck, cv, n, beams):
    rows = [(ck[b, :, :n].clone(), cv[b, :, :n].clone()) for b in beams.tolist()]
    for i, (k, v) in enumerate(rows):
        ck[i, :, :n], cv[i, :, :n] = k, v


def reorder_by_one_hot(ck, cv, n, beams):
    """A product with a table of 0 and 1; the free slots take no part."""
    table = F.one_hot(beams, len(ck)).to(ck.dtype)
    for cache in (ck, cv):
        cache[:, :, :n] = torch.einsum("nm,mhsd->nhsd", table, cache[:, :, :n])


def reorder_token_by_token(ck, cv, n, beams):
    for t in range(n):
        ck[:, :, t] = ck[beams, :, t]
        cv[:, :, t] = cv[beams, :, t]


def reorder_a_stack(ck, cv, n, beams):
    both = torch.stack([ck, cv])[:, beams, :, :n]
    ck[:, :, :n].copy_(both[0])
    cv[:, :, :n].copy_(both[1])


def reorder_by_take(ck, cv, n, beams):
    picked = [torch.take_along_dim(c[:, :, :n], beams[:, None, None, None], 0) for c in (ck, cv)]
    for cache, part in zip((ck, cv), picked, strict=True):
        cache[..., :n, :] = part


def quantize_in_numpy(x):
    numbers = x.detach().double().numpy()
    step = np.abs(numbers).max(-1, keepdims=True) / 127
    step = np.where(step == 0, 1.0, step)
    return torch.from_numpy(np.rint(numbers / step).astype(np.int8)), torch.from_numpy(step).to(
        x.dtype
    )


# top_p_filter


def top_p_by_taking_the_best_out(logits, top_p):
    if logits.dim() > 1:
        return torch.stack([top_p_by_taking_the_best_out(row, top_p) for row in logits])
    chances, left, held = logits.softmax(0).tolist(), logits.tolist(), 0.0
    gone = torch.ones(len(left), dtype=torch.bool)
    for _ in left:
        best = left.index(max(left))
        gone[best], left[best] = False, -math.inf
        held += chances[best]
        if top_p < 1 and held >= top_p - 1e-6:
            break
    return logits.masked_fill(gone, -math.inf)


def top_p_in_numpy(logits, top_p):
    scores = logits.double().numpy()
    if top_p == 1:
        return logits.clone()
    order = np.argsort(-scores, -1, kind="stable")
    ranked = np.take_along_axis(scores, order, -1)
    shares = np.exp(ranked - ranked.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    keep = np.zeros_like(scores, bool)
    np.put_along_axis(keep, order, np.cumsum(shares, -1) - shares < top_p - 1e-6, -1)
    return logits.masked_fill(torch.from_numpy(~keep), float("-inf"))


def top_p_by_a_shift(logits, top_p):
    if top_p >= 1:
        return logits
    p, order = torch.sort(logits.softmax(-1), dim=-1, descending=True, stable=True)
    before = torch.zeros_like(p)
    before[..., 1:] = p.cumsum(-1)[..., :-1]
    gone = torch.zeros_like(before, dtype=torch.bool).scatter_(-1, order, before > top_p - 1e-6)
    return torch.where(gone, float("-inf"), logits)


def top_p_by_counting(logits, top_p):
    p, order = F.softmax(logits.double(), dim=-1).sort(dim=-1, descending=True, stable=True)
    sums = torch.cumsum(p, dim=-1)
    keep = (sums < top_p - 1e-6).sum(-1, keepdim=True) + 1
    if top_p == 1:
        keep = torch.full_like(keep, logits.shape[-1])
    rank = order.argsort(-1)
    return logits.masked_fill(rank >= keep, -torch.inf)


def top_p_row_by_row(logits, top_p):
    if top_p == 1:
        return logits.clone()
    rows = logits.reshape(-1, logits.shape[-1])
    flat = [torch.full_like(row, -torch.inf) for row in rows]
    for row, kept in zip(rows, flat, strict=True):
        held = 0.0
        chances = row.softmax(-1).tolist()
        for token in sorted(range(len(chances)), key=lambda t: -chances[t]):
            kept[token] = row[token]
            held += chances[token]
            if held >= top_p - 1e-6:
                break
    return torch.stack(flat).view(logits.shape)


def top_p_by_pairs(logits, top_p):
    """Each token asks how much the likelier ones hold, without sorting."""
    if top_p == 1:
        return logits
    p = logits.softmax(-1)
    place = torch.arange(p.shape[-1])
    likelier = p.unsqueeze(-2) > p.unsqueeze(-1)
    likelier |= (p.unsqueeze(-2) == p.unsqueeze(-1)) & (place < place.unsqueeze(-1))
    before = (likelier * p.unsqueeze(-2)).sum(-1)
    return logits.masked_fill(before >= top_p - 5e-7, float("-inf"))


def top_p_as_in_the_library(scores, top_p):
    """As transformers does it: ascending, from the tail; with room for rounding."""
    ascending, order = torch.sort(scores.flip(-1), descending=False, stable=True)
    tail = ascending.softmax(dim=-1).cumsum(dim=-1)
    remove = tail <= (1 - top_p) + 1e-6
    remove[..., -1:] = False
    if top_p == 1.0:
        remove = torch.zeros_like(remove)
    gone = remove.scatter(-1, order, remove).flip(-1)
    return scores.masked_fill(gone, -float("inf"))


def top_p_by_rounding(logits, top_p):
    order = logits.argsort(dim=-1, descending=True, stable=True)
    ranked = logits.gather(-1, order)
    sums = torch.round(ranked.softmax(-1).cumsum(-1), decimals=6)
    drop = (sums[..., :-1] >= round(top_p, 6)) & (top_p < 1)
    drop = torch.cat([torch.zeros_like(sums[..., :1], dtype=torch.bool), drop], -1)
    ranked = ranked.masked_fill(drop, -torch.inf)
    return torch.empty_like(logits).scatter(-1, order, ranked)


def top_p_in_place_on_a_copy(logits, top_p):
    out = logits.clone()
    if top_p < 1:
        p, i = logits.detach().softmax(-1).sort(dim=-1, descending=True, stable=True)
        gone = p.cumsum(-1) - p >= top_p - 1e-6
        out[torch.zeros_like(gone).scatter_(-1, i, gone)] = float("-inf")
    return out


RIGHT_WAYS_CH10 = {
    "append_kv": (
        append_row_by_row,
        append_by_copy,
        append_by_index,
        append_by_scatter,
        append_both_at_once,
        append_by_put,
    ),
    "decode_step": (
        step_by_torch,
        step_with_minus_1e9,
        step_query_by_query,
        step_by_einsum,
        step_by_parts,
        step_with_free_slots_emptied,
        step_head_by_head,
    ),
    "rolling_cache_positions": (
        positions_by_a_filter,
        positions_by_sets,
        positions_by_eviction,
        positions_by_tensor,
        positions_by_slices,
        positions_by_numpy,
    ),
    "cache_fits": (
        fits_by_floor,
        fits_by_steps,
        fits_tokens_then_batch,
        fits_sequence_first,
        fits_by_search,
    ),
    "paged_gather": (
        gather_by_blocks,
        gather_by_positions,
        gather_row_by_row,
        gather_block_by_block,
        gather_all_then_cut,
        gather_by_embedding,
        gather_into_a_table,
        gather_by_index_select,
    ),
    "quantize_kv": (
        quantize_plainly,
        quantize_by_numbers_first,
        quantize_row_by_row,
        quantize_by_norm,
        quantize_by_both_ends,
        quantize_half_away_from_zero,
        quantize_in_numpy,
    ),
    "greedy_decode": (
        greedy_with_a_table,
        greedy_token_by_token,
        greedy_prompt_in_two_pieces,
        greedy_by_softmax,
        greedy_by_recursion,
        greedy_sequence_by_sequence,
        greedy_module,
    ),
    "speculative_accept": (
        accept_by_recursion,
        accept_by_a_loop,
        accept_at_once,
        accept_with_for_else,
        accept_in_plain_python,
        accept_by_the_first_refusal,
        accept_by_subtracting,
    ),
    "reorder_cache": (
        reorder_by_recursion,
        reorder_by_index,
        reorder_by_select,
        reorder_row_by_row,
        reorder_by_gather,
        reorder_by_lists,
        reorder_by_one_hot,
        reorder_token_by_token,
        reorder_a_stack,
        reorder_by_take,
    ),
    "top_p_filter": (
        top_p_by_taking_the_best_out,
        top_p_by_a_shift,
        top_p_in_numpy,
        top_p_by_counting,
        top_p_row_by_row,
        top_p_by_pairs,
        top_p_as_in_the_library,
        top_p_by_rounding,
        top_p_in_place_on_a_copy,
    ),
}
