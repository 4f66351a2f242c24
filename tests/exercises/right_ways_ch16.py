"""Right answers to the exercises of chapter 16 in other styles."""

import math

import torch
import torch.nn.functional as F

from course_utils.attention import merge_partials

# ring_schedule


def schedule_by_turning_a_list(world_size, rank):
    ranks = list(range(world_size))[::-1]
    first = ranks.index(rank)
    return ranks[first:] + ranks[:first]


def schedule_by_handing_on(world_size, rank):
    held = list(range(world_size))
    seen = []
    for _ in range(world_size):
        seen.append(held[rank])
        held = [held[-1], *held[:-1]]
    return seen


def schedule_step_by_step(world_size, rank):
    seen = [rank]
    while len(seen) < world_size:
        seen.append(seen[-1] - 1 if seen[-1] else world_size - 1)
    return seen


def schedule_by_torch(world_size, rank):
    return torch.remainder(rank - torch.arange(world_size), world_size).tolist()


# zigzag_split


def zigzag_by_chunks(num_tokens, world_size):
    if num_tokens % (2 * world_size):
        raise ValueError("an even share for each rank")
    chunks = torch.arange(num_tokens).chunk(2 * world_size)
    return torch.stack([torch.cat([chunks[r], chunks[-1 - r]]) for r in range(world_size)])


def zigzag_by_sorting(num_tokens, world_size):
    """Rank r has the tokens whose run is r, counted from the nearer end."""
    run, rest = divmod(num_tokens, 2 * world_size)
    if rest:
        raise ValueError(f"{num_tokens} tokens, {world_size} ranks")
    runs = torch.arange(num_tokens) // run
    owner = torch.minimum(runs, 2 * world_size - 1 - runs)
    return torch.stack([(owner == r).nonzero().flatten() for r in range(world_size)])


def zigzag_by_lists(num_tokens, world_size):
    if num_tokens % (2 * world_size) != 0:
        raise ValueError
    n = num_tokens // (2 * world_size)
    rows = []
    for r in range(world_size):
        late = 2 * world_size - 1 - r
        rows.append([*range(r * n, r * n + n), *range(late * n, late * n + n)])
    return torch.tensor(rows, dtype=torch.long)


def zigzag_by_folding(num_tokens, world_size):
    if num_tokens % (2 * world_size):
        raise ValueError("does not fit")
    halves = torch.arange(num_tokens).view(2, world_size, -1)
    return torch.hstack((halves[0], halves[1].flip(0)))


# ring_attention_step


def step_with_merge_partials(out, lse, query, key, value, query_positions, key_positions):
    sees = query_positions[:, None] >= key_positions[None]
    rows, keys = sees.any(1), sees.any(0)
    if not rows.any():
        return out, lse
    scores = query[:, :, rows] @ key[:, :, keys].mT / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~sees[rows][:, keys], float("-inf"))
    part = F.softmax(scores, dim=-1) @ value[:, :, keys]
    both = merge_partials(out[:, :, rows], lse[:, :, rows], part, scores.logsumexp(-1))
    out, lse = out.clone(), lse.clone()
    out[:, :, rows], lse[:, :, rows] = both
    return out, lse


def step_as_flash_ring_attention(out, lse, q, k, v, query_positions, key_positions):
    """As ring-flash-attention merges: by a sigmoid of the difference of the two logsumexps."""
    rows = torch.where(query_positions >= key_positions.min())[0]
    keys = torch.where(key_positions <= query_positions.max())[0]
    if rows.numel() == 0:
        return out, lse
    s = torch.einsum("bhid,bhjd->bhij", q[:, :, rows], k[:, :, keys]) * q.size(-1) ** -0.5
    hidden = key_positions[keys][None, :] > query_positions[rows][:, None]
    s = s.masked_fill(hidden, -math.inf)
    block_lse = torch.logsumexp(s, -1)
    block_out = torch.einsum("bhij,bhjd->bhid", torch.softmax(s, -1), v[:, :, keys])
    old_out, old_lse = out[:, :, rows], lse[:, :, rows]
    share = torch.sigmoid(block_lse - old_lse)[..., None]
    new_out = old_out - share * (old_out - block_out)
    new_lse = torch.logaddexp(old_lse, block_lse)
    return out.index_copy(2, rows, new_out), lse.index_copy(2, rows, new_lse)


def step_one_query_at_a_time(out, lse, query, key, value, query_positions, key_positions):
    outs, totals = list(out.unbind(2)), list(lse.unbind(2))
    for i, place in enumerate(query_positions.tolist()):
        seen = key_positions <= place
        if not seen.any():
            continue
        q = query[:, :, i].unsqueeze(2)
        scores = (q * key[:, :, seen]).sum(-1) / math.sqrt(query.shape[-1])
        every = torch.cat([totals[i].unsqueeze(-1), scores], -1)
        shares = every.softmax(-1).unsqueeze(-1)
        values = torch.cat([outs[i].unsqueeze(2), value[:, :, seen]], 2)
        outs[i], totals[i] = (shares * values).sum(2), every.logsumexp(-1)
    return torch.stack(outs, 2), torch.stack(totals, 2)


def step_with_sums_and_a_maximum(out, lse, query, key, value, query_positions, key_positions):
    """The state as m, l and acc of chapter 09, rows that see nothing kept by `torch.where`."""
    sees = key_positions.unsqueeze(0) <= query_positions.unsqueeze(1)
    rows, keys = sees.any(1).nonzero()[:, 0], sees.any(0).nonzero()[:, 0]
    if not len(rows):
        return out.clone(), lse.clone()
    scores = (query[:, :, rows] / math.sqrt(query.shape[-1])) @ key[:, :, keys].transpose(-1, -2)
    scores = scores + torch.zeros(len(rows), len(keys), dtype=scores.dtype).masked_fill(
        ~sees[rows][:, keys], -1e30
    )
    m = torch.maximum(lse[:, :, rows], scores.amax(-1))
    before = torch.exp(lse[:, :, rows] - m)
    weights = torch.exp(scores - m.unsqueeze(-1))
    total = before + weights.sum(-1)
    acc = before.unsqueeze(-1) * out[:, :, rows] + weights @ value[:, :, keys]
    spread = torch.zeros_like(out).index_copy(2, rows, acc / total.unsqueeze(-1))
    logs = torch.zeros_like(lse).index_copy(2, rows, m + total.log())
    is_row = sees.any(1)
    return torch.where(is_row[:, None], spread, out), torch.where(is_row, logs, lse)


def step_through_the_fused_operator(out, lse, query, key, value, query_positions, key_positions):
    """The operator gives no logsumexp: it comes from the scores, which are multiplied again."""
    sees = key_positions <= query_positions[:, None]
    rows, keys = sees.any(1).nonzero()[:, 0], sees.any(0).nonzero()[:, 0]
    if not len(rows):
        return out.clone(), lse.clone()
    q, k, v, mask = query[:, :, rows], key[:, :, keys], value[:, :, keys], sees[rows][:, keys]
    part = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    both = merge_partials(out[:, :, rows], lse[:, :, rows], part, scores.logsumexp(-1))
    return out.index_copy(2, rows, both[0]), lse.index_copy(2, rows, both[1])


# ring_attention


def ring_through_the_fused_operator(query, key, value, begin, rank, world_size):
    out = lse = None
    for step in range(world_size):
        finish = begin(key, value) if step < world_size - 1 else None
        if step <= rank:
            part = F.scaled_dot_product_attention(query, key, value, is_causal=step == 0)
            scores = query @ key.mT / math.sqrt(query.shape[-1])
            if step == 0:
                later = torch.ones_like(scores[0, 0]).triu(1).bool()
                scores = scores.masked_fill(later, -math.inf)
            own = part, scores.logsumexp(-1)
            out, lse = own if out is None else merge_partials(out, lse, *own)
        if finish:
            key, value = finish()
    return out


def ring_with_steps(query, key, value, begin, rank, world_size):
    """The first rotation is begun before the loop; the next one as soon as one has ended."""
    length = query.shape[2]
    out = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    lse = torch.full(query.shape[:-1], -math.inf, dtype=query.dtype)
    finish = begin(key, value) if world_size > 1 else None
    for step in range(world_size):
        source = (rank - step) % world_size
        mine = torch.arange(rank * length, (rank + 1) * length)
        theirs = torch.arange(source * length, (source + 1) * length)
        out, lse = step_with_merge_partials(out, lse, query, key, value, mine, theirs)
        if step + 1 < world_size:
            key, value = finish()
        if step + 2 < world_size:
            finish = begin(key, value)
    return out


def ring_that_joins_two_columns(query, key, value, begin, rank, world_size):
    L = query.size(2)
    later = torch.triu(torch.ones(L, L, dtype=torch.bool), diagonal=1)
    out = lse = None
    for step in range(world_size):
        coming = begin(key, value) if step != world_size - 1 else lambda: (None, None)
        if step <= rank:
            scores = query @ key.mT / math.sqrt(query.size(-1))
            if step == 0:
                scores = scores.masked_fill(later, -math.inf)
            part, total = scores.softmax(-1) @ value, scores.logsumexp(-1, keepdim=True)
            if out is None:
                out, lse = part, total
            else:
                shares = torch.cat([lse, total], -1).softmax(-1)
                out = shares[..., :1] * out + shares[..., 1:] * part
                lse = torch.logaddexp(lse, total)
        key, value = coming()
    return out


def ring_with_a_running_maximum(query, key, value, begin, rank, world_size):
    d = query.shape[-1]
    m = torch.full((*query.shape[:3], 1), -torch.inf, dtype=query.dtype)
    total, acc = torch.zeros_like(m), torch.zeros_like(value)
    for t in range(world_size):
        if t < world_size - 1:
            finish = begin(key, value)
        if t <= rank:
            s = torch.einsum("bhid,bhjd->bhij", query, key) / d**0.5
            if t == 0:
                s = torch.where(torch.ones_like(s[0, 0]).tril() > 0, s, -torch.inf)
            new = torch.maximum(m, s.max(-1, keepdim=True).values)
            p, old = (s - new).exp(), (m - new).exp()
            total = old * total + p.sum(-1, keepdim=True)
            acc, m = old * acc + p @ value, new
        if t < world_size - 1:
            key, value = finish()
    return acc / total


def ring_query_by_query(query, key, value, begin, rank, world_size):
    """A denominator and a numerator for each query, shifted by the first score that it has."""
    B, H, L, d = query.shape
    rows = [[None] * L for _ in range(B * H)]
    q = query.flatten(0, 1)
    for step in range(world_size):
        if step < world_size - 1:
            finish = begin(key.clone(), value.clone())
        k, v = key.flatten(0, 1), value.flatten(0, 1)
        for head in range(B * H if (rank - step) % world_size <= rank else 0):
            for i in range(L):
                end = i + 1 if step == 0 else L
                s = (k[head, :end] * q[head, i]).sum(-1) / math.sqrt(d)
                lse, out = torch.logsumexp(s, 0), (s.softmax(0)[:, None] * v[head, :end]).sum(0)
                if rows[head][i] is not None:
                    before, kept = rows[head][i]
                    w = torch.sigmoid(lse - before)
                    lse, out = torch.logaddexp(lse, before), w * out + (1 - w) * kept
                rows[head][i] = (lse, out)
        if step < world_size - 1:
            key, value = finish()
    return torch.stack([torch.stack([out for _, out in row]) for row in rows]).view(B, H, L, -1)


# sequence_to_heads


def heads_piece_by_piece(shards):
    """As an all-to-all does: each shard is cut into a piece for each rank, then they are joined."""
    P = len(shards)
    if shards[0].shape[1] % P:
        raise ValueError("heads cannot be shared out")
    sent = [x.tensor_split(P, dim=1) for x in shards]
    return [torch.cat([sent[source][r] for source in range(P)], dim=2) for r in range(P)]


def heads_by_one_reshape(shards):
    B, H, _, d = shards[0].shape
    if H % len(shards) != 0:
        raise ValueError(f"{len(shards)} does not divide {H}")
    whole = torch.cat(tuple(shards), dim=-2)
    return list(whole.view(B, len(shards), H // len(shards), -1, d).unbind(1))


def heads_into_empty_tensors(shards):
    B, H, _, d = shards[0].shape
    P, n = len(shards), sum(x.shape[2] for x in shards)
    share, rest = divmod(H, P)
    if rest:
        raise ValueError("rest")
    result = [shards[0].new_zeros(B, share, n, d) for _ in range(P)]
    for r in range(P):
        start = 0
        for x in shards:
            result[r][:, :, start : start + x.shape[2]] = x[:, r * share : (r + 1) * share]
            start += x.shape[2]
    return result


# communication_bytes


def bytes_scheme_by_scheme(
    scheme, world_size, batch, num_tokens, num_heads, num_kv_heads, d_k, bytes_per_element,
    backward=False,
):  # fmt: skip
    P = world_size
    q = batch * num_heads * num_tokens * d_k * bytes_per_element
    kv = batch * num_kv_heads * num_tokens * d_k * bytes_per_element
    if scheme == "ring":
        sent = (P - 1) * 2 * kv // P
        return sent + (2 * kv if backward and P > 1 else 0)
    if scheme == "ulysses":
        return (2 * q + 2 * kv) * (P - 1) // P**2
    if scheme == "tensor":
        return 2 * (P - 1) * q // P
    raise ValueError(scheme)


def bytes_by_counting_messages(
    scheme, world_size, batch, num_tokens, num_heads, num_kv_heads, d_k, bytes_per_element,
    backward=False,
):  # fmt: skip
    tokens = num_tokens // world_size
    messages = []
    if scheme == "ring":
        block = (batch, num_kv_heads, tokens, d_k)
        for rotation in range(world_size):
            if rotation < world_size - 1:
                messages += [block, block]
            if backward and world_size > 1:
                messages += [block, block]
    elif scheme == "ulysses":
        for _ in range(world_size - 1):
            for heads in (num_heads, num_kv_heads, num_kv_heads, num_heads):
                messages.append((batch, heads // world_size, tokens, d_k))
    elif scheme == "tensor":
        for _ in range(2 * (world_size - 1)):
            messages.append((batch, tokens, num_heads * d_k))
    else:
        raise ValueError("unknown scheme")
    return sum(math.prod(shape) for shape in messages) * bytes_per_element


def bytes_by_a_table(
    scheme, world_size, batch, num_tokens, num_heads, num_kv_heads, d_k, bytes_per_element,
    backward=False,
):  # fmt: skip
    one = batch * num_tokens // world_size * d_k * bytes_per_element
    rotations = world_size - 1
    heads = {
        "ring": 2 * num_kv_heads * (rotations + (world_size if backward and rotations else 0)),
        "ulysses": rotations * 2 * (num_heads + num_kv_heads) / world_size,
        "tensor": rotations * 2 * num_heads,
    }
    if scheme not in heads:
        raise ValueError(f"{scheme!r} is not one of {list(heads)}")
    return round(one * heads[scheme])


# streaming_positions


def places_by_a_cache(num_tokens, window, num_sinks):
    places = torch.full((num_tokens, num_tokens), -1)
    cache = []
    for token in range(num_tokens):
        cache.append(token)
        if len(cache) > num_sinks + window:
            del cache[num_sinks]
        for place, key in enumerate(cache):
            places[token, key] = place
    return places


def places_by_formula(num_tokens, window, num_sinks):
    i, j = torch.arange(num_tokens)[:, None], torch.arange(num_tokens)[None, :]
    evicted = (i + 1 - num_sinks - window).clamp(min=0)
    place = torch.where(j < num_sinks, j, j - evicted)
    gone = (j > i) | ((j >= num_sinks) & (j < num_sinks + evicted))
    return torch.where(gone, -1, place)


def places_row_by_row(num_tokens, window, num_sinks):
    rows = []
    for i in range(num_tokens):
        held = sorted({*range(min(num_sinks, i + 1)), *range(max(0, i - window + 1), i + 1)})
        where = {key: place for place, key in enumerate(held)}
        rows.append([where.get(j, -1) for j in range(num_tokens)])
    return torch.tensor(rows, dtype=torch.long).reshape(num_tokens, num_tokens)


# memory_attention


def memory_by_gathering(query, key, value, memory_key, memory_value, top_k, gate):
    B, H, L, d_k = query.shape
    near = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = torch.einsum("bhld,bhmd->bhlm", query, memory_key) / d_k**0.5
    top, where = torch.topk(scores, min(top_k, memory_key.shape[2]), dim=-1)
    found = torch.take_along_dim(memory_value[:, :, None], where[..., None], dim=3)
    far = (top.softmax(-1).unsqueeze(-1) * found).sum(3)
    share = torch.sigmoid(gate)[None, :, None, None]
    return torch.lerp(near, far, share.expand(B, H, L, 1))


def memory_by_sorting(query, key, value, memory_key, memory_value, top_k, gate):
    scale = 1 / math.sqrt(query.shape[-1])
    later = torch.ones(query.shape[2], query.shape[2]).triu(1).bool()
    near = (query @ key.mT * scale).masked_fill(later, -1e30).softmax(-1) @ value
    scores = query @ memory_key.mT * scale
    order = scores.argsort(dim=-1, descending=True)
    place = order.argsort(dim=-1)
    far = scores.masked_fill(place >= top_k, -math.inf).softmax(-1) @ memory_value
    g = (1 / (1 + torch.exp(-gate))).reshape(-1, 1, 1)
    return near + g * (far - near)


def memory_by_loops(query, key, value, memory_key, memory_value, top_k, gate):
    B, H, L, d_k = query.shape
    scale = d_k**-0.5
    heads = []
    for b in range(B):
        for h in range(H):
            for i in range(L):
                q = query[b, h, i]
                near = (key[b, h, : i + 1] @ q * scale).softmax(0) @ value[b, h, : i + 1]
                scores = memory_key[b, h] @ q * scale
                best = scores.argsort(descending=True)[:top_k]
                far = scores[best].softmax(0) @ memory_value[b, h, best]
                g = gate[h].sigmoid()
                heads.append(g * far + (1 - g) * near)
    return torch.stack(heads).view(B, H, L, -1)


RIGHT_WAYS_CH16 = {
    "ring_schedule": (
        schedule_by_turning_a_list,
        schedule_by_handing_on,
        schedule_step_by_step,
        schedule_by_torch,
    ),
    "zigzag_split": (zigzag_by_chunks, zigzag_by_sorting, zigzag_by_lists, zigzag_by_folding),
    "ring_attention_step": (
        step_with_merge_partials,
        step_as_flash_ring_attention,
        step_one_query_at_a_time,
        step_with_sums_and_a_maximum,
        step_through_the_fused_operator,
    ),
    "ring_attention": (
        ring_with_steps,
        ring_that_joins_two_columns,
        ring_with_a_running_maximum,
        ring_query_by_query,
        ring_through_the_fused_operator,
    ),
    "sequence_to_heads": (heads_piece_by_piece, heads_by_one_reshape, heads_into_empty_tensors),
    "communication_bytes": (bytes_scheme_by_scheme, bytes_by_counting_messages, bytes_by_a_table),
    "streaming_positions": (places_by_a_cache, places_by_formula, places_row_by_row),
    "memory_attention": (memory_by_gathering, memory_by_sorting, memory_by_loops),
}
