"""Right answers to the exercise on the tiled backward pass in other styles than the reference."""

import math

import torch

INF = torch.inf


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


RIGHT_WAYS_BACKWARD = {
    "tiled_attention_backward": (
        back_by_slices,
        back_keys_outside,
        back_in_two_walks,
        back_head_by_head,
        back_by_autograd_inside_each_tile,
        back_with_powers_of_two,
    ),
}
