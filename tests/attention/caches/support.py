"""Helpers of the caches' tests: one of each kind, inputs, and the attention they equal."""

import copy

import torch
from torch import Tensor

from course_utils.attention import (
    BlockPool,
    KVCache,
    PagedCache,
    QuantizedCache,
    RollingCache,
    quantize_kv,
)

B, H, H_KV, LENGTH, D = 2, 6, 3, 23, 5
WINDOW, SINKS = 5, 2
KINDS = ("plain", "rolling", "paged", "quantized")
SPLITS = [(LENGTH,), (1,) * LENGTH, (7, 1, 1, 8, 6), (1, 2, 3, 4, 5, 8), (16, 7), (4, 4, 4, 4, 7)]
Cache = KVCache | RollingCache | PagedCache | QuantizedCache


def new_cache(kind: str, heads: int = H_KV, batch: int = B, dtype=torch.float64) -> Cache:
    """Return an empty cache with room for LENGTH tokens, if it has a limit."""
    if kind == "plain":
        return KVCache(batch, heads, LENGTH, D, dtype=dtype)
    if kind == "rolling":
        return RollingCache(batch, heads, D, window=WINDOW, num_sinks=SINKS, dtype=dtype)
    if kind == "paged":
        return PagedCache(BlockPool(6 * batch, 4, heads, D, dtype=dtype), batch)
    return QuantizedCache(batch, heads, LENGTH, D, dtype=dtype)


def qkv(heads: int = H, kv_heads: int = H_KV, length: int = LENGTH) -> tuple[Tensor, ...]:
    g = torch.Generator().manual_seed(heads + 10 * kv_heads + 100 * length)
    sizes = (heads, kv_heads, kv_heads)
    return tuple(
        torch.randn(B, size, length, D, generator=g, dtype=torch.float64) for size in sizes
    )


def rows_seen(kind: str, length: int) -> list[list[int]]:
    """List for each position which ones it sees, in words as plain as can be."""
    near = WINDOW if kind == "rolling" else length
    return [
        [j for j in range(i + 1) if j > i - near or (kind == "rolling" and j < SINKS)]
        for i in range(length)
    ]


def without_cache(kind: str, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return what no cache would give, one head and one position at a time."""
    if kind == "quantized":
        key, value = (q.double() * scale for q, scale in map(quantize_kv, (key, value)))
    group, out = query.shape[1] // key.shape[1], torch.empty_like(query)
    for h in range(query.shape[1]):
        for i, seen in enumerate(rows_seen(kind, query.shape[2])):
            keys, values = key[:, h // group, seen], value[:, h // group, seen]
            scores = (keys @ query[:, h, i, :, None]).squeeze(-1) / query.shape[-1] ** 0.5
            out[:, h, i] = (scores.softmax(-1).unsqueeze(1) @ values).squeeze(1)
    return out


def read(cache: Cache, split: tuple[int, ...], *given: Tensor) -> Tensor:
    """Append and attend piece by piece; return all outputs."""
    out = []
    for query, key, value in zip(*(x.split(split, dim=2) for x in given), strict=True):
        cache.append(key, value)
        out.append(cache.attend(query))
    return torch.cat(out, dim=2)


def state(owner: object) -> dict[str, object]:
    """Return a copy of all that an object holds, and of what its pool holds."""
    held = dict(vars(owner))
    pool = held.pop("pool", None)
    return copy.deepcopy(held | ({} if pool is None else {"in the pool": dict(vars(pool))}))


def same(one: object, other: object) -> bool:
    """Compare two states bit by bit, NaN included."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}.get(one.itemsize, torch.uint8)
        one, other = (
            x.contiguous().view(bits) if x.is_floating_point() else x for x in (one, other)
        )
        return one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other
