"""Right answers to the exercises on relative positions in other styles than the reference."""

import math

import torch
import torch.nn.functional as F

# shaw_scores


def shaw_by_einsum(query, key, relative_embedding, max_distance, scale=None):
    L, S = query.shape[-2], key.shape[-2]
    steps = torch.arange(S)[None, :] - torch.arange(L)[:, None]
    a = relative_embedding[steps.clamp(-max_distance, max_distance) + max_distance]
    both = torch.einsum("bhld,bhsd->bhls", query, key) + torch.einsum("bhld,lsd->bhls", query, a)
    return both * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)


def shaw_with_keys_of_their_own(query, key, relative_embedding, max_distance, scale=None):
    """Add the vectors to the keys, as the paper writes it."""
    j, i = torch.arange(key.size(2)), torch.arange(query.size(2)).unsqueeze(1)
    index = torch.clamp(j - i, min=-max_distance, max=max_distance) + max_distance
    keys = key.unsqueeze(2) + F.embedding(index, relative_embedding)
    scores = (query.unsqueeze(3) * keys).sum(-1)
    return scores * (query.size(-1) ** -0.5 if scale is None else scale)


def shaw_query_by_query(q, k, table, reach, scale=None):
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    rows = []
    for i in range(q.shape[-2]):
        index = [max(-reach, min(reach, j - i)) + reach for j in range(k.shape[-2])]
        rows.append((q[..., i : i + 1, :] * (k + table[index])).sum(-1) * factor)
    return torch.stack(rows, dim=-2)


def shaw_by_take_along(q, k, table, reach, scale=None):
    met = torch.matmul(q, table.transpose(0, 1))
    steps = torch.arange(k.shape[2]).view(1, -1) - torch.arange(q.shape[2]).view(-1, 1)
    index = (steps + reach).clamp(0, 2 * reach).expand(*q.shape[:2], -1, -1)
    both = q @ k.transpose(-2, -1) + torch.take_along_dim(met, index, dim=-1)
    return both / math.sqrt(q.shape[-1]) if scale is None else both * scale


def shaw_by_one_hot(q, k, table, reach, scale=None):
    steps = torch.arange(k.shape[-2]) - torch.arange(q.shape[-2])[:, None]
    hot = F.one_hot(steps.clamp(-reach, reach) + reach, 2 * reach + 1).to(q.dtype)
    relative = torch.einsum("...lr,lsr->...ls", q @ table.T, hot)
    scale = 1 / q.shape[-1] ** 0.5 if scale is None else scale
    return scale * (q @ k.mT) + scale * relative


# t5_bucket


def bucket_as_in_t5(relative_position, num_buckets, max_distance, bidirectional):
    ret = 0
    n = -relative_position
    if bidirectional:
        num_buckets //= 2
        ret += (n < 0).to(torch.long) * num_buckets
        n = torch.abs(n)
    else:
        n = torch.max(n, torch.zeros_like(n))
    max_exact = num_buckets // 2
    is_small = n < max_exact
    val_if_large = max_exact + (
        torch.log(n.float() / max_exact)
        / math.log(max_distance / max_exact)
        * (num_buckets - max_exact)
    ).to(torch.long)
    val_if_large = torch.min(val_if_large, torch.full_like(val_if_large, num_buckets - 1))
    ret += torch.where(is_small, n, val_if_large)
    return ret


def bucket_one_by_one(relative_position, num_buckets, max_distance, bidirectional):
    def one(step):
        size = num_buckets // 2 if bidirectional else num_buckets
        start = size if bidirectional and step > 0 else 0
        distance = abs(step) if bidirectional else max(-step, 0)
        exact = size // 2
        if distance < exact:
            return start + distance
        share = math.log(distance / exact) / math.log(max_distance / exact)
        return start + min(exact + int(share * (size - exact)), size - 1)

    flat = [one(int(step)) for step in relative_position.flatten()]
    return torch.tensor(flat).reshape(relative_position.shape)


def bucket_by_thresholds(steps, num_buckets, max_distance, bidirectional):
    size = num_buckets // 2 if bidirectional else num_buckets
    exact = size // 2
    wide = size - exact
    starts = exact * (max_distance / exact) ** (torch.arange(1, wide).double() / wide)
    distance = steps.abs() if bidirectional else steps.neg().clamp(min=0)
    far = exact + torch.bucketize(distance.double(), starts, right=True)
    out = torch.where(distance < exact, distance, far)
    return out + size * (steps > 0) if bidirectional else out


def bucket_by_log2(steps, num_buckets, max_distance, bidirectional):
    if bidirectional:
        half = num_buckets // 2
        late = (steps > 0).long() * half
        return late + bucket_by_log2(-steps.abs(), half, max_distance, False)
    exact = num_buckets // 2
    distance = torch.relu(-steps)
    ratio = torch.log2(distance.clamp(min=exact) / exact) / math.log2(max_distance / exact)
    far = (exact + torch.floor(ratio * (num_buckets - exact))).long().clamp(max=num_buckets - 1)
    return torch.where(distance >= exact, far, distance)


RIGHT_WAYS_RELATIVE = {
    "shaw_scores": (
        shaw_by_einsum,
        shaw_with_keys_of_their_own,
        shaw_query_by_query,
        shaw_by_take_along,
        shaw_by_one_hot,
    ),
    "t5_bucket": (
        bucket_as_in_t5,
        bucket_one_by_one,
        bucket_by_thresholds,
        bucket_by_log2,
    ),
}
