"""Costs of generation, as Python counts them and the stepper must compute them."""

import itertools
from typing import Any

import torch

from course_utils.attention import RollingCache, causal_mask, rolling_cache_positions
from course_utils.measure import count_flops, kv_cache_bytes
from course_utils.models.gpt.gpt import GPT

VOCABULARY = 2


def rolling() -> list[dict[str, Any]]:
    """The content of a rolling cache, and in which slots its values lie."""
    made = []
    for seen, window, sinks in itertools.product((1, 3, 8, 23), (1, 4, 7), (0, 2)):
        cache = RollingCache(1, 1, 1, window=window, num_sinks=sinks)
        for position in range(seen):
            number = torch.full((1, 1, 1, 1), float(position + 1))
            cache.append(number, number)
        slots = [int(number) - 1 for number in cache.value.flatten()]
        held = rolling_cache_positions(seen, window, sinks)
        made.append({"seen": seen, "window": window, "num_sinks": sinks, "held": held})
        made[-1]["slots"] = [None if slot < 0 else slot for slot in slots]
    return made


def pairs() -> list[dict[str, Any]]:
    """The pairs that meet in a step, counted in the mask of a window with sinks."""
    made = []
    for (first, last), window, sinks in itertools.product(
        ((0, 8), (3, 5), (8, 9), (0, 21)), (1, 4, 64), (0, 2)
    ):
        seen, place = causal_mask(last - first, last, offset=first), torch.arange(last)
        near = place > torch.arange(first, last)[:, None] - window
        count = int((seen & (near | (place < sinks))).sum())
        made.append({"first": first, "last": last, "window": window, "num_sinks": sinks})
        made[-1]["pairs"] = count
    return made


def flops() -> list[dict[str, Any]]:
    """Operations of one token in the course's GPT, its output layer left out."""
    made = []
    for num_layers, heads, kv, d_k, seen in ((2, 4, 4, 16, 9), (3, 4, 2, 32, 6), (1, 8, 1, 16, 20)):
        model = GPT(
            VOCABULARY, d_model=heads * d_k, num_heads=heads, num_layers=num_layers,
            max_length=32, num_kv_heads=kv,
        )  # fmt: skip
        with torch.no_grad():
            _, cache = model(torch.zeros(1, seen - 1, dtype=torch.long))
            count = count_flops(model, torch.zeros(1, 1, dtype=torch.long), cache)
        made.append({"num_layers": num_layers, "num_heads": heads, "num_kv_heads": kv, "d_k": d_k})
        made[-1] |= {"seen": seen, "flops": count - 2 * heads * d_k * VOCABULARY}
    return made


def caches() -> list[dict[str, Any]]:
    names = ("num_layers", "num_kv_heads", "d_k", "num_tokens", "batch", "bytes_per_element")
    rows = ((12, 8, 64, 13, 1, 2), (80, 1, 128, 1, 1, 1), (1, 2, 16, 23, 1, 4))
    return [dict(zip(names, row, strict=True)) | {"bytes": kv_cache_bytes(*row)} for row in rows]


def cases() -> dict[str, Any]:
    return {"rolling": rolling(), "pairs": pairs(), "flops": flops(), "caches": caches()}
