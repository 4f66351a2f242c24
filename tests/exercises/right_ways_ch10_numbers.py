"""Right answers to the exercises of chapter 10 that only count, in other styles."""

import math

import numpy as np
import torch

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
    return every[:s] + every[s:][-w:]


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


RIGHT_WAYS_NUMBERS = {
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
}
