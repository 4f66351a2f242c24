"""Right answers to the exercises of chapter 02 in other styles than the reference."""

import torch
import torch.nn.functional as F

from tests.exercises.right_ways_ch02_weights import RIGHT_WAYS_WEIGHTS

# additive_score


def additive_by_loop_over_queries(query, key, W_q, W_k, v):
    projected = key @ W_k
    rows = []
    for i in range(query.shape[1]):
        rows.append(torch.tanh((query[:, i] @ W_q).unsqueeze(1) + projected) @ v)
    return torch.stack(rows, dim=1)


def additive_by_einsum(q, k, W_q, W_k, v):
    hidden = (
        torch.einsum("bld,da->bla", q, W_q)[:, :, None]
        + torch.einsum("bsd,da->bsa", k, W_k)[:, None]
    )
    return torch.einsum("blsa,a->bls", hidden.tanh(), v)


def additive_by_linear(q, k, W_q, W_k, v):
    hidden = F.linear(q, W_q.T).unsqueeze(2) + F.linear(k, W_k.T).unsqueeze(1)
    return F.linear(torch.tanh(hidden), v.unsqueeze(0)).squeeze(-1)


def additive_by_expanded_projections(q, k, W_q, W_k, v):
    num_queries, num_keys = q.size(1), k.size(1)
    left = (q @ W_q).unsqueeze(2).repeat(1, 1, num_keys, 1)
    right = (k @ W_k).unsqueeze(1).expand(-1, num_queries, -1, -1)
    return (torch.tanh(left + right) * v).sum(dim=-1)


def additive_pair_by_pair(q, k, W_q, W_k, v):
    pq, pk = q @ W_q, k @ W_k
    return torch.stack(
        [
            torch.stack([torch.stack([torch.tanh(a + c) @ v for c in keys]) for a in queries])
            for queries, keys in zip(pq, pk, strict=True)
        ]
    )


def additive_by_repeats(q, k, W_q, W_k, v):
    (batch, num_queries, _), num_keys = q.shape, k.shape[1]
    left = (q @ W_q).repeat_interleave(num_keys, dim=1)
    right = (k @ W_k).repeat(1, num_queries, 1)
    return (torch.tanh(left + right) @ v.unsqueeze(-1)).view(batch, num_queries, num_keys)


def additive_sequence_by_sequence(q, k, W_q, W_k, v):
    out = [torch.tanh((a @ W_q)[:, None] + (c @ W_k)[None]) @ v for a, c in zip(q, k, strict=True)]
    return torch.stack(out)


def additive_through_exponentials(q, k, W_q, W_k, v):
    hidden = (q @ W_q)[:, :, None, :] + (k @ W_k)[:, None, :, :]
    return (2 * torch.sigmoid(2 * hidden) - 1).matmul(v)


# dot_score


def dot_by_bmm(q, k):
    return torch.bmm(q, k.transpose(1, 2))


def dot_by_einsum(q, k):
    return torch.einsum("bld,bsd->bls", q, k)


def dot_by_broadcasting(q, k):
    return (q[:, :, None, :] * k[:, None, :, :]).sum(-1)


def dot_by_keys(q, k):
    return torch.stack([(q * k[:, s : s + 1]).sum(-1) for s in range(k.shape[1])], dim=-1)


def dot_turned(q, k):
    return (k @ q.mT).mT


def dot_by_sequences(q, k):
    return torch.stack([a @ c.T for a, c in zip(q, k, strict=True)])


# general_score


def general_keys_projected(q, k, W):
    return q @ (k @ W.T).mT


def general_by_einsum(q, k, W):
    return torch.einsum("bld,de,bse->bls", q, W, k)


def general_by_linear(q, k, W):
    return torch.bmm(F.linear(q, W.t()), k.transpose(-1, -2))


def general_by_broadcasting(q, k, W):
    return ((q @ W).unsqueeze(2) * k.unsqueeze(1)).sum(-1)


def general_pair_by_pair(q, k, W):
    rows = [
        [[a @ W @ c for c in keys] for a in queries] for queries, keys in zip(q, k, strict=True)
    ]
    return torch.stack([torch.stack([torch.stack(row) for row in table]) for table in rows])


def general_by_torch_bilinear(q, k, W):
    shape = (*q.shape[:2], k.shape[1])
    left = q.unsqueeze(2).expand(*shape, -1).contiguous()
    right = k.unsqueeze(1).expand(*shape, -1).contiguous()
    return F.bilinear(left, right, W.unsqueeze(0)).squeeze(-1)


# concat_score


def concat_by_cat(q, k, W, v):
    shape = (*q.shape[:2], k.shape[1])
    pairs = torch.cat(
        [q.unsqueeze(2).expand(*shape, -1), k.unsqueeze(1).expand(*shape, -1)], dim=-1
    )
    return torch.tanh(pairs @ W) @ v


def concat_by_repeats(q, k, W, v):
    (batch, num_queries, _), num_keys = q.shape, k.shape[1]
    pairs = torch.cat([q.repeat_interleave(num_keys, 1), k.repeat(1, num_queries, 1)], dim=2)
    return torch.tanh(pairs @ W).matmul(v).reshape(batch, num_queries, num_keys)


def concat_by_splitting(q, k, W, v):
    upper, lower = W[: q.shape[-1]], W[q.shape[-1] :]
    return torch.tanh((q @ upper).unsqueeze(2) + (k @ lower).unsqueeze(1)) @ v


def concat_query_by_query(q, k, W, v):
    rows = []
    for i in range(q.size(1)):
        asked = q[:, i : i + 1].expand(-1, k.size(1), -1)
        rows.append((torch.cat((asked, k), -1).matmul(W).tanh() * v).sum(-1))
    return torch.stack(rows, 1)


def concat_pair_by_pair(q, k, W, v):
    return torch.stack(
        [
            torch.stack(
                [
                    torch.stack([torch.tanh(torch.cat([a, c]) @ W) @ v for c in keys])
                    for a in queries
                ]
            )
            for queries, keys in zip(q, k, strict=True)
        ]
    )


def concat_by_linear(q, k, W, v):
    shape = (*q.shape[:2], k.shape[1])
    pairs = torch.cat([q[:, :, None].expand(*shape, -1), k[:, None].expand(*shape, -1)], 3)
    return F.linear(F.linear(pairs, W.T).tanh(), v[None]).squeeze(3)


RIGHT_WAYS_CH02 = {
    "additive_score": (
        additive_by_loop_over_queries,
        additive_by_einsum,
        additive_by_linear,
        additive_by_expanded_projections,
        additive_pair_by_pair,
        additive_by_repeats,
        additive_sequence_by_sequence,
        additive_through_exponentials,
    ),
    "dot_score": (
        dot_by_bmm,
        dot_by_einsum,
        dot_by_broadcasting,
        dot_by_keys,
        dot_turned,
        dot_by_sequences,
    ),
    "general_score": (
        general_keys_projected,
        general_by_einsum,
        general_by_linear,
        general_by_broadcasting,
        general_pair_by_pair,
        general_by_torch_bilinear,
    ),
    "concat_score": (
        concat_by_cat,
        concat_by_repeats,
        concat_by_splitting,
        concat_query_by_query,
        concat_pair_by_pair,
        concat_by_linear,
    ),
    **RIGHT_WAYS_WEIGHTS,
}
