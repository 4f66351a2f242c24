"""Costs of variants, as Python counts them and the explorer must compute them."""

import itertools
from collections.abc import Callable
from typing import Any

import torch

from course_utils import attention
from course_utils.measure import count_flops, kv_cache_bytes

MASKS: dict[str, Callable[[int, int], torch.Tensor]] = {
    "full": lambda n, w: attention.causal_mask(n, n),
    "window": lambda n, w: attention.window_mask(n, n, w),
    "strided": attention.strided_mask,
    "fixed": lambda n, w: attention.fixed_mask(n, w, min(8, w)),
}


def patterns() -> list[dict[str, Any]]:
    """The pairs that meet, counted in the masks; windows that do and do not divide the length."""
    sizes = itertools.product(MASKS, (7, 24, 100, 128), (1, 8, 16, 200))
    return [
        {"variant": name, "length": n, "window": w, "pairs": int(MASKS[name](n, w).sum())}
        for name, n, w in sizes
    ]


def flops() -> list[dict[str, Any]]:
    """Operations that torch's counter sees in the reference, where it works through all tokens."""
    made = []
    for n, d, heads in ((256, 16, 2), (512, 32, 1)):
        q, k, v = torch.zeros(3, 1, heads, n, d).unbind()
        mixtures, rows = torch.zeros(n, 256), torch.zeros(256, d)
        calls: dict[str, Callable[[], Any]] = {
            "linear": lambda q=q, k=k, v=v: attention.recurrent_linear_attention(q, k, v),
            "linformer": lambda q=q, k=k, v=v, m=mixtures: attention.linformer_attention(
                q, k, v, m, m
            ),
            "xca": lambda q=q, k=k, v=v: attention.cross_covariance_attention(q, k, v, 1.0),
            "lsh": lambda q=q, v=v, n=n, d=d: attention.lsh_attention(
                q, v, torch.zeros(2, d, n // 128), 64
            ),
            "performer": lambda q=q, k=k, v=v, r=rows: attention.performer_attention(q, k, v, r),
        }
        made += [
            {"variant": name, "length": n, "d_k": d, "num_heads": heads, "flops": count_flops(call)}
            for name, call in calls.items()
        ]
    return made


def caches() -> list[dict[str, Any]]:
    """Bytes of keys and values, of one layer in float32."""
    return [
        {
            "num_kv_heads": kv, "d_k": d, "length": n,
            "bytes": kv_cache_bytes(1, kv, d, n, 1, 4),
        }
        for kv, d, n in ((8, 64, 4096), (2, 32, 128), (1, 128, 131072))
    ]  # fmt: skip


def cases() -> dict[str, Any]:
    return {"patterns": patterns(), "flops": flops(), "caches": caches()}
