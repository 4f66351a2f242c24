"""Right answers to the exercise on tiled attention in other styles than the reference."""

import math

import torch
import torch.nn.functional as F

INF = torch.inf


def tiled_by_slices(query, key, value, block_q, block_k, is_causal=False):
    num_queries, num_keys, scale = query.shape[2], key.shape[2], 1 / math.sqrt(query.shape[3])
    outs, lses = [], []
    for i in range(0, num_queries, block_q):
        q = query[:, :, i : i + block_q]
        m = q.new_full(q.shape[:3], -INF)
        l, acc = torch.zeros_like(m), q.new_zeros(*q.shape[:3], value.shape[-1])
        for j in range(0, num_keys, block_k):
            if is_causal and j >= i + q.shape[2]:
                break
            s = q @ key[:, :, j : j + block_k].transpose(-1, -2) * scale
            if is_causal:
                rows = torch.arange(i, i + s.shape[2])[:, None]
                s = s.masked_fill(torch.arange(j, j + s.shape[3]) > rows, -INF)
            new = torch.maximum(m, s.amax(-1))
            p, alpha = torch.exp(s - new[..., None]), torch.exp(m - new)
            l = alpha * l + p.sum(-1)
            acc = alpha[..., None] * acc + p @ value[:, :, j : j + block_k]
            m = new
        outs.append(acc / l[..., None])
        lses.append(m + torch.log(l))
    return torch.cat(outs, dim=2), torch.cat(lses, dim=2)


def tiled_keys_outside(Q, K, V, br, bc, is_causal=False):
    """Algorithm 1 of the first paper: tables that are read and written for every block of keys."""
    O, l = torch.zeros_like(Q), Q.new_zeros(Q.shape[:-1])
    m = torch.full_like(l, -INF)
    for j in range(0, K.size(2), bc):
        k, v = K[:, :, j : j + bc], V[:, :, j : j + bc]
        for i in range(0, Q.size(2), br):
            rows = slice(i, min(i + br, Q.size(2)))
            if is_causal and j > rows.stop - 1:
                continue
            s = Q[:, :, rows] @ k.mT / Q.size(-1) ** 0.5
            if is_causal:
                late = torch.arange(j, j + k.size(2)) > torch.arange(i, rows.stop)[:, None]
                s = s.masked_fill(late, -INF)
            m_ij = s.amax(-1)
            p = torch.exp(s - m_ij.masked_fill(m_ij == -INF, 0)[..., None])
            m_new = torch.maximum(m[:, :, rows], m_ij)
            a, b = torch.exp(m[:, :, rows] - m_new), torch.exp(m_ij - m_new)
            l_new = a * l[:, :, rows] + b * p.sum(-1)
            carried = (l[:, :, rows] * a)[..., None] * O[:, :, rows]
            O[:, :, rows] = (carried + b[..., None] * (p @ v)) / l_new[..., None]
            l[:, :, rows], m[:, :, rows] = l_new, m_new
    return O, m + l.log()


def tiled_head_by_head(query, key, value, block_q, block_k, is_causal=False):
    out = torch.empty_like(query)
    lse = query.new_empty(query.shape[:3])
    for b in range(query.shape[0]):
        for h in range(query.shape[1]):
            parts = (x[b : b + 1, h : h + 1] for x in (query, key, value))
            done = tiled_by_slices(*parts, block_q, block_k, is_causal)
            out[b, h], lse[b, h] = done[0][0, 0], done[1][0, 0]
    return out, lse


def tiled_by_torch_and_merges(q, k, v, bq, bk, is_causal=False):
    """Give torch's attention single tiles, and merge what comes back."""
    outs, lses = [], []
    for a, rows in enumerate(q.split(bq, dim=2)):
        out, lse = torch.zeros_like(rows), torch.full_like(rows[..., 0], -INF)
        for c, (keys, values) in enumerate(zip(k.split(bk, 2), v.split(bk, 2), strict=True)):
            if is_causal and c * bk >= a * bq + rows.shape[2]:
                break
            i = torch.arange(a * bq, a * bq + rows.shape[2])[:, None]
            j = torch.arange(c * bk, c * bk + keys.shape[2])
            seen = (j <= i) if is_causal else torch.ones(len(i), len(j), dtype=torch.bool)
            scores = (rows @ keys.mT / math.sqrt(q.shape[-1])).masked_fill(~seen, -INF)
            own_lse = scores.logsumexp(-1)
            own = F.scaled_dot_product_attention(rows, keys, values, attn_mask=seen)
            own = own.masked_fill(~seen.any(-1, keepdim=True), 0)
            both = torch.logaddexp(lse, own_lse)
            out = out * (lse - both).exp()[..., None] + own * (own_lse - both).exp()[..., None]
            lse = both
        outs.append(out)
        lses.append(lse)
    return [torch.cat(outs, 2), torch.cat(lses, 2)]


def tiled_by_einsum_and_powers_of_two(query, key, value, block_q, block_k, is_causal=False):
    scale = query.shape[-1] ** -0.5 * math.log2(math.e)
    out, lse = torch.zeros_like(query), torch.zeros_like(query[..., 0])
    for i in range(math.ceil(query.shape[2] / block_q)):
        q = query[:, :, i * block_q : (i + 1) * block_q]
        top, total, acc = torch.tensor(-1e30), 0.0, 0.0
        last = min(key.shape[2], i * block_q + q.shape[2]) if is_causal else key.shape[2]
        for j in range(math.ceil(last / block_k)):
            k, v = (x[:, :, j * block_k : min((j + 1) * block_k, last)] for x in (key, value))
            s = torch.einsum("bhld,bhsd->bhls", q, k) * scale
            if is_causal:
                seen = torch.ones(s.shape[-2:], dtype=torch.bool).tril(i * block_q - j * block_k)
                s = torch.where(seen, s, -INF)
            new = torch.maximum(top.to(s), s.amax(-1, keepdim=True))
            p, fade = torch.exp2(s - new), torch.exp2(top - new)
            total = total * fade + p.sum(-1, keepdim=True)
            acc = acc * fade + torch.einsum("bhls,bhsv->bhlv", p, v)
            top = new
        out[:, :, i * block_q : i * block_q + q.shape[2]] = acc / total
        lse[:, :, i * block_q : i * block_q + q.shape[2]] = (top + total.log2()).squeeze(
            -1
        ) * math.log(2)
    return out, lse


def tiled_in_two_passes(query, key, value, block_q, block_k, is_causal=False):
    """Find each row's logsumexp first, then walk over the keys once more."""

    def scores(i, j):
        q, k = query[:, :, i : i + block_q], key[:, :, j : j + block_k]
        s = q @ k.mT * query.shape[-1] ** -0.5
        place = torch.arange(i, i + q.shape[2])[:, None] >= torch.arange(j, j + k.shape[2])
        return s.masked_fill(~place, -INF) if is_causal else s

    out, lse = [], []
    for i in range(0, query.shape[2], block_q):
        end = min(i + block_q, query.shape[2], key.shape[2]) if is_causal else key.shape[2]
        starts = range(0, end, block_k)
        row = torch.stack([scores(i, j).logsumexp(-1) for j in starts], -1).logsumexp(-1)
        total = 0.0
        for j in starts:
            weights = (scores(i, j) - row[..., None]).exp()
            total = total + weights @ value[:, :, j : j + block_k]
        out.append(total)
        lse.append(row)
    return torch.cat(out, 2), torch.cat(lse, 2)


def tiled_with_padding(query, key, value, block_q, block_k, is_causal=False):
    """Fill up the last tiles, and hide what was filled in."""
    num_queries, num_keys = query.shape[2], key.shape[2]
    q = F.pad(query, (0, 0, 0, -num_queries % block_q)) / query.shape[-1] ** 0.5
    k, v = (F.pad(x, (0, 0, 0, -num_keys % block_k)) for x in (key, value))
    outs, lses = [], []
    for i, rows in enumerate(q.unflatten(2, (-1, block_q)).unbind(2)):
        m, l, acc = torch.full_like(rows[..., :1], -1e30), 0.0, torch.zeros_like(rows)
        for j in range(k.shape[2] // block_k):
            if is_causal and j * block_k >= min((i + 1) * block_q, num_queries):
                continue
            place = j * block_k + torch.arange(block_k)
            s = rows @ k[:, :, place].mT
            hidden = (place >= num_keys).expand(block_q, -1)
            if is_causal:
                hidden = hidden | (place > i * block_q + torch.arange(block_q)[:, None])
            s = s.masked_fill(hidden, -INF)
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            fade, p = (m - new).exp(), (s - new).exp()
            l, acc, m = l * fade + p.sum(-1, keepdim=True), acc * fade + p @ v[:, :, place], new
        outs.append(acc / l)
        lses.append((m + l.log()).squeeze(-1))
    return torch.cat(outs, 2)[:, :, :num_queries], torch.cat(lses, 2)[:, :, :num_queries]


def tiled_from_the_last_key(query, key, value, block_q, block_k, is_causal=False):
    """Walk over the keys from the end, so that a row may have seen nothing for a while."""
    outs, lses = [], []
    for i in range(0, query.shape[2], block_q):
        q = query[:, :, i : i + block_q]
        out, lse = torch.zeros_like(q), torch.full_like(q[..., 0], -INF)
        for j in reversed(range(0, key.shape[2], block_k)):
            if is_causal and j > i + q.shape[2] - 1:
                continue
            s = q @ key[:, :, j : j + block_k].mT / math.sqrt(q.shape[-1])
            if is_causal:
                s = s + torch.full(s.shape[-2:], -INF, dtype=s.dtype).triu(1 + i - j)
            new = torch.logaddexp(lse, s.logsumexp(-1))
            base = new.masked_fill(new == -INF, 0.0)
            p = (s - base[..., None]).exp()
            out = out * (lse - base).exp()[..., None] + p @ value[:, :, j : j + block_k]
            lse = new
        outs.append(out)
        lses.append(lse)
    return torch.cat(outs, 2), torch.cat(lses, 2)


RIGHT_WAYS_TILED = {
    "tiled_attention": (
        tiled_by_slices,
        tiled_keys_outside,
        tiled_head_by_head,
        tiled_by_torch_and_merges,
        tiled_by_einsum_and_powers_of_two,
        tiled_in_two_passes,
        tiled_with_padding,
        tiled_from_the_last_key,
    ),
}
