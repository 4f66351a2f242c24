"""Walks through tiles, as Python and the stepper must agree on them."""

import itertools
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import causal_mask, online_softmax_step


def states(
    query: Tensor, key: Tensor, value: Tensor, block_q: int, block_k: int, is_causal: bool
) -> list[dict[str, Any]]:
    """Say m, l and acc of a block of queries after each tile that it meets, queries outside."""
    length, num_keys = len(query), len(key)
    scores = query @ key.T / query.shape[1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(~causal_mask(length, num_keys), -torch.inf)
    kept = []
    for start in range(0, length, block_q):
        rows = scores[start : start + block_q].split(block_k, dim=1)
        m = torch.full_like(rows[0][:, 0], -torch.inf)
        total, acc = torch.zeros_like(m), m.new_zeros(len(m), value.shape[1])
        for tile, part in zip(rows, value.split(block_k), strict=True):
            if (tile == -torch.inf).all():
                continue
            m, total, acc = online_softmax_step(m, total, acc, tile, part)
            kept.append({"m": m.tolist(), "l": total.tolist(), "acc": acc.tolist()})
    return kept


def moved(sizes: tuple[int, int, int, int], blocks: tuple[int, int], is_causal: bool) -> list[int]:
    """Count what each order moves in closed form: queries outside, then keys outside."""
    (length, num_keys, d, d_v), (block_q, block_k) = sizes, blocks
    pairs = [
        (min(block_q, length - i), min(block_k, num_keys - j))
        for i in range(0, length, block_q)
        for j in range(0, num_keys, block_k)
        if not is_causal or j < min(i + block_q, length)
    ]
    columns = min(num_keys, -(-length // block_k) * block_k) if is_causal else num_keys
    queries_outside = length * (d + d_v + 1) + sum(keys for _, keys in pairs) * (d + d_v)
    keys_outside = columns * (d + d_v) + sum(rows for rows, _ in pairs) * (d + 2 * d_v + 4)
    return [queries_outside, keys_outside]


def cases() -> list[dict[str, Any]]:
    """Ragged, exact and oversized blocks, more queries than keys and fewer, causal and not."""
    generator = torch.Generator().manual_seed(9)
    made = []
    for (length, num_keys), blocks, is_causal in itertools.product(
        [(7, 8), (8, 5)], [(3, 3), (1, 4), (8, 8)], (False, True)
    ):
        query, key, value = (
            torch.randn(n, width, generator=generator, dtype=torch.float64).round(decimals=1)
            for n, width in ((length, 4), (num_keys, 4), (num_keys, 2))
        )
        made.append({
            "query": query.tolist(), "key": key.tolist(), "value": value.tolist(),
            "block_q": blocks[0], "block_k": blocks[1], "is_causal": is_causal,
            "states": states(query, key, value, *blocks, is_causal),
            "moved": moved((length, num_keys, 4, 2), blocks, is_causal),
        })  # fmt: skip
    return made
