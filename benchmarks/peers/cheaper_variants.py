"""Every attention of chapter 08 at one length, with what theory says of its growth."""

import math
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    absorbed_latent_attention,
    block_sparse_attention,
    blocked_window_attention,
    causal_linear_attention,
    causal_performer_attention,
    cross_covariance_attention,
    fixed_mask,
    global_window_attention,
    grouped_query_attention,
    linear_attention,
    linformer_attention,
    lsh_attention,
    orthogonal_projection,
    performer_attention,
    recurrent_linear_attention,
    scaled_dot_product_attention,
    sliding_window_attention,
    strided_mask,
    window_mask,
)

HEADS, D_K, WINDOW, FEATURES, MIXTURES, REACH = 4, 64, 128, 256, 256, 64
Call = partial[Tensor]

# name: (exponent of time in theory, longest sequence that a machine with 8 GB takes)
THEORY: dict[str, tuple[float, int]] = {
    "softmax, written out": (2, 4096),
    "softmax, window mask on all scores": (2, 4096),
    "grouped-query, 1 of 4 heads": (2, 4096),
    "latent, absorbed, width 128": (2, 4096),
    "SDPA": (2, 8192),
    "SDPA, causal": (2, 16384),
    "SDPA, window mask": (2, 8192),
    "sliding window": (1, 16384),
    "sliding window, blocked": (1, 16384),
    "window and 16 global tokens": (1, 16384),
    "strided pattern, stride √n": (1.5, 8192),
    "fixed pattern, blocks of √n": (1.5, 8192),
    "linear": (1, 16384),
    "causal linear, chunks": (1, 16384),
    "causal linear, recurrent": (1, 8192),
    "causal linear, all states": (1, 8192),
    "Performer": (1, 16384),
    "Performer, causal": (1, 16384),
    "Linformer": (1, 16384),
    "LSH, n/64 buckets, 2 rounds": (2, 8192),
    "LSH, 64 buckets, 2 rounds": (1, 8192),
    "cross-covariance": (1, 16384),
}


def all_states(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return causal linear attention as textbooks write it: a running sum of every state."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    states = (key.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(-3)
    total = (query * key.cumsum(-2)).sum(-1, keepdim=True)
    return (query.unsqueeze(-2) @ states).squeeze(-2) / total


def inputs(length: int, heads: int = HEADS) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values of one sequence."""
    generator = torch.Generator().manual_seed(length)
    return tuple(torch.randn(1, heads, length, D_K, generator=generator) for _ in range(3))


def variants(length: int) -> dict[str, Call]:
    """Return a call for each variant that takes this length; masks are made beforehand."""
    q, k, v = inputs(length)
    g = torch.Generator().manual_seed(0)
    mask = window_mask(length, length, WINDOW)
    root = 8 * round(math.sqrt(length) / 8)
    mixtures = torch.randn(2, length, MIXTURES, generator=g) / math.sqrt(length)
    random_rows = orthogonal_projection(FEATURES, D_K, g)
    buckets = {n: torch.randn(2, D_K, n // 2, generator=g) for n in {length // 64, 64}}
    W_uk, W_uv = torch.randn(2, HEADS, 2 * D_K, D_K, generator=g) / math.sqrt(2 * D_K)
    cache = torch.cat((k[:, 0], v[:, 0]), dim=-1)
    plain = scaled_dot_product_attention
    calls: dict[str, Call] = {
        "softmax, written out": partial(plain, q, k, v),
        "softmax, window mask on all scores": partial(plain, q, k, v, mask),
        "grouped-query, 1 of 4 heads": partial(grouped_query_attention, q, k[:, :1], v[:, :1]),
        "latent, absorbed, width 128": partial(absorbed_latent_attention, q, cache, W_uk, W_uv),
        "SDPA": partial(F.scaled_dot_product_attention, q, k, v),
        "SDPA, causal": partial(F.scaled_dot_product_attention, q, k, v, is_causal=True),
        "SDPA, window mask": partial(F.scaled_dot_product_attention, q, k, v, mask),
        "sliding window": partial(sliding_window_attention, q, k, v, WINDOW),
        "sliding window, blocked": partial(blocked_window_attention, q, k, v, WINDOW),
        "window and 16 global tokens": partial(global_window_attention, q, k, v, WINDOW // 2, 16),
        "strided pattern, stride √n": partial(
            block_sparse_attention, q, k, v, strided_mask(length, root), 8
        ),
        "fixed pattern, blocks of √n": partial(
            block_sparse_attention, q, k, v, fixed_mask(length, root, 8), 8
        ),
        "linear": partial(linear_attention, q, k, v),
        "causal linear, chunks": partial(causal_linear_attention, q, k, v),
        "causal linear, recurrent": partial(recurrent_linear_attention, q, k, v),
        "causal linear, all states": partial(all_states, q, k, v),
        "Performer": partial(performer_attention, q, k, v, random_rows),
        "Performer, causal": partial(causal_performer_attention, q, k, v, random_rows),
        "Linformer": partial(linformer_attention, q, k, v, *mixtures),
        "LSH, n/64 buckets, 2 rounds": partial(lsh_attention, q, v, buckets[length // 64], REACH),
        "LSH, 64 buckets, 2 rounds": partial(lsh_attention, q, v, buckets[64], REACH),
        "cross-covariance": partial(cross_covariance_attention, q, k, v, 1.0),
    }
    return {name: call for name, call in calls.items() if length <= THEORY[name][1]}
