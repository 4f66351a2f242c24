"""Right answers to the exercise on the sliding window in other styles than the reference."""

import math

import torch
import torch.nn.functional as F


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


RIGHT_WAYS_WINDOW = {
    "sliding_window_attention": (
        window_token_by_token,
        window_by_unfold,
        window_by_gather,
        window_by_runs_and_torch,
        window_by_two_blocks,
        window_by_shifts,
        window_written_into_a_table,
    ),
}
