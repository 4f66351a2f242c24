"""Right answers to the exercises of chapter 09 in other styles than the references."""

import math
from fractions import Fraction

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from triton import language

INF = torch.inf


# matmul_intensity


def intensity_number_by_number(num_queries, num_keys, d_k, bytes_per_element, count_output):
    flops = 2 * num_queries * num_keys * d_k
    moved = num_queries * d_k * bytes_per_element
    moved += num_keys * d_k * bytes_per_element
    if count_output:
        moved += num_queries * num_keys * bytes_per_element
    return flops / moved


def intensity_cancelled(L, S, d, size, count_output):
    """Everything divided by L · S · d."""
    return 2 / (size * (1 / L + 1 / S + (1 / d if count_output else 0)))


def intensity_by_fractions(L, S, d, size, count_output):
    return float(Fraction(2 * L * S * d, size * (L * d + S * d + count_output * L * S)))


def intensity_of_meta_tensors(L, S, d, size, count_output):
    query, key = torch.empty(L, d, device="meta"), torch.empty(S, d, device="meta")
    scores = query @ key.T
    numbers = query.numel() + key.numel() + (scores.numel() if count_output else 0)
    return 2.0 * scores.numel() * d / (numbers * size)


def intensity_step_by_step(L, S, d, size, count_output):
    multiplications = additions = L * S * d
    read = (L + S) * d * size
    written = L * S * size if count_output else 0
    return (multiplications + additions) / (read + written)


def intensity_of_arrays(L, S, d, size, count_output):
    query, key = torch.ones(L, d), torch.ones(S, d)
    tensors = [query, key, query @ key.T][: 3 if count_output else 2]
    return float(2 * L * S * d / (size * sum(t.numel() for t in tensors)))


# online_softmax_step


def step_through_logsumexp(m, l, acc, scores, value):
    m_new = torch.maximum(m, scores.max(dim=-1).values)
    safe = torch.where(m_new == -INF, torch.zeros_like(m_new), m_new)
    p = torch.exp(scores - safe[..., None])
    alpha = torch.exp(m - safe)
    return m_new, alpha * l + p.sum(-1), alpha[..., None] * acc + torch.matmul(p, value)


def step_with_a_maximum_that_carries_no_gradient(m, l, acc, scores, value):
    top = torch.cat([m[..., None], scores], -1).amax(-1).detach()
    shift = top.clamp(min=torch.finfo(top.dtype).min)
    p, fade = (scores - shift[..., None]).exp(), (m - shift).exp()
    return (
        top,
        l.mul(fade).add(p.sum(-1)),
        torch.einsum("...lt,...tv->...lv", p, value) + (acc * fade[..., None]),
    )


def step_key_by_key(m, l, acc, scores, value):
    for t in range(scores.shape[-1]):
        s = scores[..., t]
        top = torch.maximum(m, s)
        low = top.masked_fill(top.isneginf(), 0)
        fade, p = torch.exp(m - low), torch.exp(s - low)
        l = l * fade + p
        acc = acc * fade.unsqueeze(-1) + p.unsqueeze(-1) * value[..., t, :].unsqueeze(-2)
        m = top
    return m, l, acc


def step_of_the_tile_and_then_a_merge(m, l, acc, scores, value):
    """Sum the tile against its own maximum, then bring both sums to the larger one."""
    own = scores.amax(-1)
    p = (scores - own.masked_fill(own == -INF, 0.0).unsqueeze(-1)).exp()
    new = torch.maximum(m, own)
    base = new.masked_fill(new == -INF, 0.0)
    a, b = (m - base).exp(), (own - base).exp()
    return [new, a * l + b * p.sum(-1), a[..., None] * acc + b[..., None] * (p @ value)]


def step_by_powers_of_two(m, l, acc, scores, value):
    log2e = 1 / math.log(2)
    new = torch.fmax(m, scores.amax(-1))
    base = torch.where(new.isinf(), 0.0, new)
    p = torch.exp2((scores - base[..., None]) * log2e)
    fade = torch.exp2((m - base) * log2e)
    return new, torch.addcmul(p.sum(-1), l, fade), acc * fade[..., None] + p @ value


def step_with_one_column_more(m, l, acc, scores, value):
    """Carry l as a column of acc whose values are all 1."""
    both = torch.cat([acc, l.unsqueeze(-1)], -1)
    ones = torch.cat([value, torch.ones_like(value[..., :1])], -1)
    new = torch.maximum(m, scores.amax(-1))
    base = new.masked_fill(new == -INF, 0.0).unsqueeze(-1)
    both = both * (m.unsqueeze(-1) - base).exp() + (scores - base).exp() @ ones
    return new, both[..., -1], both[..., :-1]


def step_in_place_on_its_own(m, l, acc, scores, value):
    new = torch.maximum(m, scores.amax(-1))
    base = new.masked_fill(new == -INF, 0.0)
    fade = (m - base).exp()
    total = fade * l
    total += (scores - base.unsqueeze(-1)).exp().sum(-1)
    out = fade.unsqueeze(-1) * acc
    out += (scores - base.unsqueeze(-1)).exp() @ value
    return new, total, out


# merge_partials


def merge_by_logaddexp(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    safe = torch.where(lse == -INF, torch.zeros_like(lse), lse)
    a = torch.where((lse_a == -INF)[..., None], torch.zeros_like(out_a), out_a)
    b = torch.where((lse_b == -INF)[..., None], torch.zeros_like(out_b), out_b)
    return a * (lse_a - safe).exp()[..., None] + b * (lse_b - safe).exp()[..., None], lse


def merge_by_stacking(out_a, lse_a, out_b, lse_b):
    outs, lses = torch.stack([out_a, out_b]), torch.stack([lse_a, lse_b])
    empty = lses.isneginf()
    lse = lses.logsumexp(0)
    weights = torch.exp(lses - lse.masked_fill(lse.isneginf(), 0))
    return (outs.masked_fill(empty[..., None], 0) * weights[..., None]).sum(0), lse


def merge_by_sigmoid(out_a, lse_a, out_b, lse_b):
    gone_a, gone_b = lse_a == -INF, lse_b == -INF
    diff = torch.where(gone_a | gone_b, 0.0, lse_a - lse_b)
    share = torch.sigmoid(diff)
    share = torch.where(gone_b, 1.0, torch.where(gone_a, 0.0, share))
    a, b = out_a.masked_fill(gone_a[..., None], 0), out_b.masked_fill(gone_b[..., None], 0)
    out = share[..., None] * a + (1 - share)[..., None] * b
    return out, torch.logaddexp(lse_a, lse_b)


def merge_by_softmax(oa, la, ob, lb):
    both = torch.stack((la, lb), dim=-1)
    neither = (both == -INF).all(-1, keepdim=True)
    w = both.masked_fill(neither, 0.0).softmax(-1)
    oa, ob = torch.nan_to_num(oa, posinf=0, neginf=0), torch.nan_to_num(ob, posinf=0, neginf=0)
    out = (w[..., :1] * oa + w[..., 1:] * ob).masked_fill(neither, 0.0)
    return [out, torch.logsumexp(both, -1)]


def merge_replaced_afterwards(oa, la, ob, lb):
    """Choose where only one part saw a key, and correct the rest."""
    top = torch.maximum(la, lb)
    safe = torch.where(top == -INF, 0.0, top)
    wa, wb = (la - safe).exp().unsqueeze(-1), (lb - safe).exp().unsqueeze(-1)
    out = (wa * oa + wb * ob) / (wa + wb)
    out = torch.where(wb == 0, oa, torch.where(wa == 0, ob, out))
    out = torch.where((wa == 0) & (wb == 0), torch.zeros_like(out), out)
    return out, safe + (wa + wb).squeeze(-1).log()


def merge_row_by_row(oa, la, ob, lb):
    width = oa.shape[-1]
    outs, lses = [], []
    rows = zip(
        oa.reshape(-1, width), la.flatten(), ob.reshape(-1, width), lb.flatten(), strict=True
    )
    for a, x, b, y in rows:
        if y == -INF and x == -INF:
            outs.append(torch.zeros_like(a))
            lses.append(x)
        elif y == -INF or x == -INF:
            outs.append(a if y == -INF else b)
            lses.append(torch.maximum(x, y))
        else:
            lse = torch.logaddexp(x, y)
            outs.append(a * (x - lse).exp() + b * (y - lse).exp())
            lses.append(lse)
    return torch.stack(outs).view(oa.shape), torch.stack(lses).view(la.shape)


# tiled_attention


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


# tiled_attention_backward


def _late(i, rows, j, keys):
    return torch.arange(j, j + keys) > torch.arange(i, i + rows)[:, None]


def back_by_slices(query, key, value, out, lse, grad_out, block_q, block_k, is_causal=False):
    scale = 1 / math.sqrt(query.shape[-1])
    dq, dk, dv = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    D = (grad_out * out).sum(-1)
    for i in range(0, query.shape[2], block_q):
        rows = slice(i, i + block_q)
        q, do = query[:, :, rows], grad_out[:, :, rows]
        for j in range(0, key.shape[2], block_k):
            if is_causal and j >= i + q.shape[2]:
                break
            cols = slice(j, j + block_k)
            k, v = key[:, :, cols], value[:, :, cols]
            s = q @ k.transpose(-2, -1) * scale
            if is_causal:
                s = s.masked_fill(_late(i, q.shape[2], j, k.shape[2]), float("-inf"))
            p = torch.exp(s - lse[:, :, rows, None])
            dv[:, :, cols] += p.transpose(-2, -1) @ do
            ds = p * (do @ v.transpose(-2, -1) - D[:, :, rows, None])
            dq[:, :, rows] += ds @ k * scale
            dk[:, :, cols] += ds.transpose(-2, -1) @ q * scale
    return dq, dk, dv


def back_keys_outside(q, k, v, o, lse, g, bq, bk, is_causal=False):
    """FlashAttention-2's order: dk and dv of a block are finished before the next one."""
    scale = q.size(-1) ** -0.5
    rowsum = torch.einsum("bhld,bhld->bhl", g, o)
    dq, dks, dvs = torch.zeros_like(q), [], []
    for c, (kj, vj) in enumerate(zip(k.split(bk, 2), v.split(bk, 2), strict=True)):
        dkj, dvj = torch.zeros_like(kj), torch.zeros_like(vj)
        for i in range(0, q.size(2), bq):
            stop = min(i + bq, q.size(2))
            if is_causal and c * bk > stop - 1:
                continue
            qi, gi = q[:, :, i:stop], g[:, :, i:stop]
            p = (scale * qi @ kj.mT - lse[:, :, i:stop].unsqueeze(-1)).exp()
            if is_causal:
                p = p.masked_fill(_late(i, stop - i, c * bk, kj.size(2)), 0.0)
            dvj = dvj + p.mT @ gi
            ds = p * (gi @ vj.mT - rowsum[:, :, i:stop].unsqueeze(-1)) * scale
            dkj = dkj + ds.mT @ qi
            dq[:, :, i:stop] = dq[:, :, i:stop] + ds @ kj
        dks.append(dkj)
        dvs.append(dvj)
    return [dq, torch.cat(dks, 2), torch.cat(dvs, 2)]


def back_in_two_walks(q, k, v, out, lse, grad, bq, bk, is_causal=False):
    """Walk once for dq and once more for dk and dv, as the kernels do: every tile twice."""
    scale = q.shape[-1] ** -0.5
    delta = (grad * out).sum(-1, keepdim=True)

    def tile(i, j):
        qs, ks = q[:, :, i : i + bq], k[:, :, j : j + bk]
        s = torch.einsum("bhld,bhsd->bhls", qs, ks) * scale
        if is_causal:
            s = torch.where(_late(i, qs.shape[2], j, ks.shape[2]), -INF, s)
        p = torch.exp(s - lse[:, :, i : i + bq, None])
        dp = torch.einsum("bhld,bhsd->bhls", grad[:, :, i : i + bq], v[:, :, j : j + bk])
        return p, p * (dp - delta[:, :, i : i + bq])

    def sees(i, j):
        return not is_causal or j < min(i + bq, q.shape[2])

    starts, ends = range(0, q.shape[2], bq), range(0, k.shape[2], bk)
    dq = [
        sum(tile(i, j)[1] @ k[:, :, j : j + bk] * scale for j in ends if sees(i, j)) for i in starts
    ]
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    for j in ends:
        for i in starts:
            if sees(i, j):
                p, ds = tile(i, j)
                dk[:, :, j : j + bk] += ds.mT @ q[:, :, i : i + bq] * scale
                dv[:, :, j : j + bk] += p.mT @ grad[:, :, i : i + bq]
    return torch.cat(dq, 2), dk, dv


def back_head_by_head(q, k, v, out, lse, grad, bq, bk, is_causal=False):
    results = [torch.empty_like(x) for x in (q, k, v)]
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            given = (x[b, h][None, None] for x in (q, k, v, out, lse, grad))
            for whole, part in zip(
                results, back_keys_outside(*given, bq, bk, is_causal), strict=True
            ):
                whole[b, h] = part[0, 0]
    return tuple(results)


def back_by_autograd_inside_each_tile(q, k, v, out, lse, grad, bq, bk, is_causal=False):
    """Let autograd go through one tile at a time; D enters as the slope of the logsumexp."""
    grads = [torch.zeros_like(x) for x in (q, k, v)]
    delta = (grad * out).sum(-1, keepdim=True)
    for i in range(0, q.shape[2], bq):
        for j in range(0, k.shape[2], bk):
            if is_causal and j > min(i + bq, q.shape[2]) - 1:
                continue
            places = slice(i, i + bq), slice(j, j + bk), slice(j, j + bk)
            with torch.enable_grad():
                tile = [
                    x[:, :, at].detach().clone().requires_grad_()
                    for x, at in zip((q, k, v), places, strict=True)
                ]
                s = tile[0] @ tile[1].mT / math.sqrt(q.shape[-1])
                if is_causal:
                    s = s.masked_fill(_late(i, s.shape[2], j, s.shape[3]), -INF)
                p = (s - lse[:, :, i : i + bq, None]).exp()
                loss = ((p @ tile[2]) * grad[:, :, i : i + bq]).sum()
                loss = loss - (p * delta[:, :, i : i + bq]).sum()
                parts = torch.autograd.grad(loss, tile)
            for whole, part, at in zip(grads, parts, places, strict=True):
                whole[:, :, at] += part
    return tuple(grads)


def back_with_powers_of_two(query, key, value, out, lse, grad, block_q, block_k, is_causal=False):
    factor = math.log2(math.e)
    scale = query.shape[-1] ** -0.5
    dq = []
    dk, dv = key.new_zeros(key.shape), value.new_zeros(value.shape)
    for i, (q, o, g, e) in enumerate(
        zip(*(x.split(block_q, 2) for x in (query, out, grad, lse)), strict=True)
    ):
        first, row = i * block_q, torch.zeros_like(q)
        end = min(key.shape[2], first + q.shape[2]) if is_causal else key.shape[2]
        for j in range(0, end, block_k):
            cols = slice(j, min(j + block_k, end))
            p = torch.exp2((q * scale) @ key[:, :, cols].mT * factor - e[..., None] * factor)
            if is_causal:
                p = p.tril(first - j)
            dp = g @ value[:, :, cols].mT
            ds = p * dp - p * (g * o).sum(-1, keepdim=True)
            row = row + ds @ key[:, :, cols]
            dk[:, :, cols].add_(ds.mT @ q, alpha=scale)
            dv[:, :, cols].add_(p.mT @ g)
        dq.append(scale * row)
    return torch.cat(dq, 2), dk, dv


# hbm_traffic


def traffic_by_ceil(num_tokens, d, sram_elements):
    width = math.ceil(sram_elements / (4 * d))
    blocks = math.ceil(num_tokens / width)
    standard = 4 * num_tokens * d + 4 * num_tokens * num_tokens
    return standard, 2 * num_tokens * d + blocks * (3 * num_tokens * d + 4 * num_tokens)


def traffic_with_divmod(n, d, m):
    b = (m + 4 * d - 1) // (4 * d)
    t, rest = divmod(n, b)
    t += rest > 0
    return [4 * n * (d + n), n * (2 * d + t * (3 * d + 4))]


def traffic_block_by_block(n, d, m):
    width = -(-m // (4 * d))
    flash = 0
    for start in range(0, n, width):
        flash += 2 * (min(start + width, n) - start) * d + 3 * n * d + 4 * n
    return sum((3 * n * d, n * n, n * n, n * n, n * n, n * d)), flash


def traffic_max_one(n, d, m):
    blocks = (n - 1) // max(1, -(m // -(4 * d))) + 1
    return 4 * n * d + (2 * n) ** 2, 2 * n * d + blocks * n * (3 * d + 4)


# flash_forward_tile


def tile_as_the_formulas(m, l, acc, q, k, v, columns, limit, scale_log2):
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    l = l * shrink + tl.sum(weights, 1)
    acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
    return m_new, l, acc


@triton.jit
def tile_decorated(m_i, l_i, acc, q, k, v, columns, limit, qk_scale):
    """The tutorial's names and order: the maximum before the scale, alpha on acc first."""
    qk = tl.dot(q, k.T)
    if limit is not None:
        qk += tl.where(columns[None, :] < limit[:, None], 0.0, -1.0e9)
    m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
    qk = qk * qk_scale - m_ij[:, None]
    p = tl.math.exp2(qk)
    alpha = tl.math.exp2(m_i - m_ij)
    acc = acc * alpha[:, None]
    acc += tl.dot(p.to(v.dtype), v)
    l_i = l_i * alpha + tl.sum(p, 1)
    return m_ij, l_i, acc


def tile_in_powers_of_e(m, l, acc, q, k, v, columns, limit, scale_log2):
    ln2 = 0.6931471805599453
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale_log2 * ln2)
    if limit is not None:
        scores = tl.where(columns[None, :] >= limit[:, None], -float("inf"), scores)
    top = tl.maximum(m * ln2, tl.max(scores, axis=1))
    weights = tl.exp(scores - top[:, None])
    shrink = tl.exp(m * ln2 - top)
    acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
    return top / ln2, l * shrink + tl.sum(weights, axis=1), acc


def tile_by_products(m, l, acc, q, k, v, columns, limit, scale_log2):
    """No tl.dot at all: products of all pairs, summed."""
    q32, k32, v32 = q.to(tl.float32), k.to(tl.float32), v.to(tl.float32)
    scores = tl.sum(q32[:, None, :] * k32[None, :, :], 2) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    gathered = tl.sum(weights[:, :, None] * v32[None, :, :], 1)
    return m_new, l * shrink + tl.sum(weights, 1), acc * shrink[:, None] + gathered


def tile_with_weights_hidden(m, l, acc, q, k, v, columns, limit, scale_log2):
    """A low score keeps hidden keys out of the maximum; their weights are set to 0 besides."""
    scores = language.dot(q, language.trans(k)) * scale_log2
    seen = scores > float("-inf")
    if limit is not None:
        seen = columns[None, :] < limit[:, None]
    scores = language.where(seen, scores, -1.0e38)
    m_new = language.maximum(m, language.max(scores, 1))
    weights = language.where(seen, language.exp2(scores - m_new[:, None]), 0.0)
    shrink = language.exp2(m - m_new)
    l = l * shrink + language.sum(weights, 1)
    acc = acc * shrink[:, None] + language.dot(weights.to(v.dtype), v)
    return m_new, l, acc


def tile_merged(m, l, acc, q, k, v, columns, limit, scale_log2):
    """The tile's own softmax first, unnormalised; then two states become one."""
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    here = tl.maximum(tl.max(scores, 1), -1.0e38)
    weights = tl.exp2(scores - here[:, None])
    m_new = tl.maximum(m, here)
    old, new = tl.exp2(m - m_new), tl.exp2(here - m_new)
    l = old * l + new * tl.sum(weights, 1)
    acc = old[:, None] * acc + new[:, None] * tl.dot(weights.to(v.dtype), v)
    return m_new, l, acc


def tile_by_methods(m, l, acc, q, k, v, columns, limit, scale_log2):
    scores = tl.dot(q, k.trans()) * scale_log2
    if limit is not None:
        hidden = columns.expand_dims(0) >= limit.expand_dims(1)
        scores = tl.where(hidden, -math.inf, scores)
    m_new = tl.maximum(scores.max(1), m)
    weights = tl.exp2(scores - m_new.expand_dims(1))
    shrink = tl.exp2(m - m_new)
    sums = weights.sum(1)
    return m_new, sums + shrink * l, shrink[:, None] * acc + tl.dot(weights.to(v.dtype), v)


@triton.jit
def _visible(columns, limit):
    return columns[None, :] < limit[:, None]


def tile_with_a_helper(m, l, acc, q, k, v, columns, limit, scale_log2):
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(_visible(columns, limit), scores, float("-inf"))
    state = (tl.maximum(m, tl.max(scores, 1)),)
    m_new = state[0]
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    acc = acc * shrink[:, None] + tl.dot(weights, v.to(tl.float32))
    return m_new, l * shrink + tl.sum(weights, 1), acc


RIGHT_WAYS_CH09 = {
    "matmul_intensity": (
        intensity_number_by_number,
        intensity_cancelled,
        intensity_by_fractions,
        intensity_of_meta_tensors,
        intensity_step_by_step,
        intensity_of_arrays,
    ),
    "online_softmax_step": (
        step_through_logsumexp,
        step_with_a_maximum_that_carries_no_gradient,
        step_key_by_key,
        step_of_the_tile_and_then_a_merge,
        step_by_powers_of_two,
        step_with_one_column_more,
        step_in_place_on_its_own,
    ),
    "merge_partials": (
        merge_by_logaddexp,
        merge_by_stacking,
        merge_by_sigmoid,
        merge_by_softmax,
        merge_replaced_afterwards,
        merge_row_by_row,
    ),
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
    "tiled_attention_backward": (
        back_by_slices,
        back_keys_outside,
        back_in_two_walks,
        back_head_by_head,
        back_by_autograd_inside_each_tile,
        back_with_powers_of_two,
    ),
    "hbm_traffic": (
        traffic_by_ceil,
        traffic_with_divmod,
        traffic_block_by_block,
        traffic_max_one,
    ),
    "flash_forward_tile": (
        tile_as_the_formulas,
        tile_decorated,
        tile_in_powers_of_e,
        tile_by_products,
        tile_with_weights_hidden,
        tile_merged,
        tile_by_methods,
        tile_with_a_helper,
    ),
}
