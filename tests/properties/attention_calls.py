"""Calls of what `attention` and `measure` offer beside functions of tensors."""

import torch
from call_table import Call, floats

from course_utils import attention, measure
from course_utils.attention.flash_triton import flash_attention

B, H, H_KV, L, D, ROOM = 2, 4, 2, 3, 6, 8
SIZES = {"batch": B, "num_kv_heads": H_KV, "d_k": D}
NEW = (B, H_KV, L, D)


def plain() -> attention.KVCache:
    return filled(attention.KVCache(max_length=ROOM, **SIZES))


def rolling() -> attention.RollingCache:
    return filled(empty())


def empty() -> attention.RollingCache:
    return attention.RollingCache(window=3, num_sinks=1, **SIZES)


def pool() -> attention.BlockPool:
    made = attention.BlockPool(12, 2, H_KV, D)
    made.take(2)
    return made


def paged() -> attention.PagedCache:
    return filled(attention.PagedCache(pool(), B))


def quantized() -> attention.QuantizedCache:
    return filled(attention.QuantizedCache(max_length=ROOM, **SIZES))


def filled(cache):
    cache.append(floats(*NEW), -floats(*NEW))
    return cache


def _appended(make):
    return lambda: {"self": make(), "key": floats(*NEW), "value": floats(*NEW)}


def _asked(make):
    return lambda: {"self": make(), "query": floats(B, H, L, D)}


def _mask() -> torch.Tensor:
    return torch.ones(L, L, dtype=torch.bool).tril()


def _product() -> torch.Tensor:
    return floats(3, 3) @ floats(3, 3)


CACHES = (
    Call(attention.KVCache, lambda: SIZES | {"max_length": ROOM}),
    Call(attention.KVCache.append, _appended(plain)),
    Call(attention.KVCache.attend, lambda: _asked(plain)() | {"first": torch.tensor([0, 1])}),
    Call(attention.KVCache.read, lambda: {"self": plain()}),
    Call(attention.RollingCache, lambda: SIZES | {"window": 3}),
    Call(attention.RollingCache.append, _appended(rolling)),
    Call(attention.RollingCache.attend, _asked(rolling)),
    Call(attention.RollingCache.read, lambda: {"self": rolling()}),
    Call(attention.QuantizedCache, lambda: SIZES | {"max_length": ROOM}),
    Call(attention.QuantizedCache.append, _appended(quantized)),
    Call(attention.QuantizedCache.attend, _asked(quantized)),
    Call(attention.RollingCache.begin, lambda: {"self": empty(), "first": torch.tensor([0, 1])}),
    Call(attention.QuantizedCache.read, lambda: {"self": quantized()}),
    Call(attention.PagedCache, lambda: {"pool": pool(), "batch": B}),
    Call(attention.PagedCache.append, _appended(paged)),
    Call(attention.PagedCache.attend, _asked(paged)),
    Call(attention.PagedCache.read, lambda: {"self": paged()}),
    Call(attention.PagedCache.fork, lambda: {"self": paged()}),
    Call(attention.PagedCache.release, lambda: {"self": paged()}),
    Call(
        attention.BlockPool,
        lambda: {"num_blocks": 3, "block_size": 2, "num_kv_heads": H_KV, "d_k": D},
    ),
    Call(attention.BlockPool.check_free, lambda: {"self": pool(), "count": 2}),
    Call(attention.BlockPool.own, lambda: {"self": pool(), "block": 1}),
    Call(attention.BlockPool.take, lambda: {"self": pool(), "count": 2}),
    Call(attention.BlockPool.share, lambda: {"self": pool(), "blocks": [0, 1]}),
    Call(attention.BlockPool.release, lambda: {"self": pool(), "blocks": [0, 1]}),
)


def _heads() -> attention.MultiHeadAttention:
    return attention.MultiHeadAttention(H * D, H, d_key=5, d_value=7)


def _latent() -> attention.LatentAttention:
    return attention.LatentAttention(H * D, H, d_latent=5, d_rope=2)


def _streams() -> dict[str, torch.Tensor]:
    return {"query": floats(B, L, H * D), "key": floats(B, L, 5), "attn_mask": _mask()}


def _decoded() -> dict[str, object]:
    return {"self": _latent(), "x": floats(B, L, H * D)}


MODULES = (
    Call(attention.MultiHeadAttention, lambda: {"d_model": 8, "num_heads": 2}),
    Call(
        attention.MultiHeadAttention.forward,
        lambda: (
            {"self": _heads(), "value": floats(B, L, 7)}
            | _streams()
            | {"keep": torch.tensor([True, False, True, True])}
        ),
    ),
    Call(attention.MultiHeadAttention.weights, lambda: {"self": _heads()} | _streams()),
    Call(attention.LatentAttention, lambda: {"d_model": 8, "num_heads": 2, "d_latent": 3}),
    Call(attention.LatentAttention.forward, lambda: _decoded() | {"attn_mask": _mask()}),
    Call(
        attention.LatentAttention.decode,
        lambda: _decoded() | {"cache": floats(B, L, 7), "attn_mask": _mask()},
    ),
    Call(attention.LatentAttention.compress, _decoded),
    Call(
        attention.CompressedLatentAttention,
        lambda: {"d_model": 8, "num_heads": 2, "d_latent": 3, "d_query": 5},
    ),
    Call(
        attention.CompressedLatentAttention.compress,
        lambda: {
            "self": attention.CompressedLatentAttention(H * D, H, d_latent=5, d_query=7),
            "x": floats(B, L, H * D),
        },
    ),
)


def _flash() -> torch.Tensor:
    x = floats(1, 1, 2, 8)
    return flash_attention(x, x, x)


ELSEWHERE = (
    Call(
        attention.wkv_step,
        lambda: {
            **{name: floats(B, D) for name in ("key", "value")},
            **{name: floats(D).abs() for name in ("decay", "bonus")},
            "state": (floats(B, D), floats(B, D).abs() + 1, floats(B, D)),
        },
    ),
    Call(
        attention.mix_experts,
        lambda: {
            "x": floats(B, D),
            "experts": [torch.tanh, torch.sigmoid],
            "index": torch.tensor([[0], [1]]),
            "gates": floats(B, 1),
        },
    ),
    Call(
        lambda mask, other: attention.combine_masks(mask, other),
        lambda: {"mask": _mask(), "other": _mask()[None]},
        "combine_masks",
    ),
    Call(measure.count_flops, lambda: {"fn": _product}),
    Call(measure.largest_tensor, lambda: {"fn": _product}),
    Call(measure.peak_memory, lambda: {"fn": _product}),
    Call(measure.trace_torch, lambda: {"fn": _product, "sram_elements": 4}),
    Call(measure.trace_triton, lambda: {"fn": _flash}),
    Call(measure.read_record, lambda: {"name": "chapter_07_positions"}),
    Call(measure.PowerLaw.__call__, lambda: {"self": measure.PowerLaw(1.0, 0.0, 2.0), "x": 3.0}),
    Call(
        flash_attention,
        lambda: {
            **{name: floats(1, 2, 3, 8) for name in ("query", "key", "value")},
            **{"is_causal": True, "scale": 0.5, "offset": 1, "window": (1, 0), "cap": 2.0},
            **{"lengths": torch.tensor([1, 2]), "slopes": floats(2)},
        },
    ),
)
CALLS = (*CACHES, *MODULES, *ELSEWHERE)
