"""Measure time and memory of tiled attention beside torch's own, forward and in training.

Method: one thread, float32, one sequence, 4 heads of width 64. Calls are compared
as `timing.py` says. The peak is the most that torch's allocator held beyond the inputs; forward,
the output is part of it, and in training the output and the three gradients.

Three tables: `runs` has every way at every length, forward and in training, `exponents` the power
laws fitted to them from 1024 tokens on, and `tiles` what the size of a tile does to the time. It
takes about ten minutes on one core and 4 GB.

    python -m benchmarks.chapters.ch09.chapter_09_tiled
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from benchmarks.recording import Row, Script
from benchmarks.timing import Call, in_rounds, milliseconds, ratio
from course_utils.attention import (
    causal_mask,
    recomputed_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from course_utils.attention.tiled import autograd
from course_utils.measure import fit_power_law, peak_memory

HEADS, D_K, BLOCK = 4, 64, 256
LENGTHS = (512, 1024, 2048, 4096, 8192)
TILES = tuple(product((32, 64, 128, 256, 512, 1024), (32, 128, 512, 1024)))
LONGEST_KEPT = 4096  # in training; what keeps n² numbers would need 10 GB at the next length
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def inputs(length: int) -> list[Tensor]:
    """Return queries, keys, values and a slope of one sequence."""
    generator = torch.Generator().manual_seed(length)
    return [torch.randn(1, HEADS, length, D_K, generator=generator) for _ in range(4)]


def ways(length: int, is_causal: bool) -> dict[str, Attention]:
    """Return each attention as a function of query, key and value."""
    mask = causal_mask(length, length) if is_causal else None

    def tiled(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return tiled_attention(query, key, value, BLOCK, BLOCK, is_causal)[0]

    return {
        "SDPA": partial(F.scaled_dot_product_attention, is_causal=is_causal),
        "written out": partial(scaled_dot_product_attention, attn_mask=mask),
        "tiled": tiled,
        "recomputed": partial(recomputed_attention, is_causal=is_causal),
    }


def trained(attend: Attention, given: list[Tensor]) -> Call:
    """Return a call that goes forward and backward."""
    *leaves, slope = (x.detach().requires_grad_(i < 3) for i, x in enumerate(given))
    return lambda: torch.autograd.grad(attend(*leaves), leaves, slope)


def measured(rounds: int) -> list[Row]:
    """Return time and memory of every way."""
    rows = []
    cases = list(product((False, True), (False, True), LENGTHS))
    for training, is_causal, length in tqdm(cases, desc="runs", ncols=80):
        given, attends = inputs(length), ways(length, is_causal)
        if training and length > LONGEST_KEPT:
            del attends["written out"], attends["tiled"]
        calls: dict[str, Call] = {
            name: trained(attend, given) if training else partial(attend, *given[:3])
            for name, attend in attends.items()
        }
        with torch.inference_mode(not training):
            seconds = in_rounds(calls, rounds)
            rows += [
                {
                    "what": name, "training": training, "is_causal": is_causal, "length": length,
                    "milliseconds": milliseconds(one), "over_sdpa": ratio(one, seconds["SDPA"]),
                    "peak_bytes": peak_memory(calls[name]),
                }
                for name, one in seconds.items()
            ]  # fmt: skip
    return rows


def exponents(runs: list[Row]) -> list[Row]:
    """Return the power laws of time and memory."""
    keys = ("what", "training", "is_causal")
    rows: list[Row] = []
    for case in dict.fromkeys(tuple(run[key] for key in keys) for run in runs):
        points = [r for r in runs if tuple(r[k] for k in keys) == case and r["length"] >= 1024]
        lengths = [point["length"] for point in points]
        laws = {
            quantity: round(fit_power_law(lengths, [p[quantity] for p in points]).exponent, 3)
            for quantity in ("milliseconds", "peak_bytes")
        }
        rows.append({**dict(zip(keys, case, strict=True)), **laws})
    return rows


def tile_sizes(rounds: int) -> list[Row]:
    """Return what tiles of other sizes do to the time, at 2048 tokens."""
    query, key, value, _ = inputs(2048)
    calls: dict[str, Call] = {"SDPA": partial(F.scaled_dot_product_attention, query, key, value)}
    for rows, keys in TILES:
        calls[f"tiled {rows} {keys}"] = partial(tiled_attention, query, key, value, rows, keys)
        calls[f"recomputed {rows} {keys}"] = partial(with_tiles, rows, keys, query, key, value)
    seconds = in_rounds(calls, rounds)
    return [
        {
            "block_q": rows, "block_k": keys,
            **{
                name: ratio(seconds[f"{name} {rows} {keys}"], seconds["SDPA"])
                for name in ("tiled", "recomputed")
            },
        }
        for rows, keys in TILES
    ]  # fmt: skip


def with_tiles(rows: int, keys: int, *given: Tensor) -> Tensor:
    """Call `recomputed_attention` with tiles of another size."""
    with mock.patch.multiple(autograd, ROWS=rows, KEYS=keys):
        return recomputed_attention(*given)


def main() -> None:
    """Measure everything and write one JSON file."""
    script = Script(__file__, __doc__, rounds=7)
    with torch.inference_mode():
        tiles = tile_sizes(script.options.rounds)
    runs = measured(script.options.rounds)
    script.record(
        what="time and peak memory of tiled attention beside torch's own, forward and in training",
        settings={
            "heads": HEADS, "d_k": D_K, "block": BLOCK, "rows": autograd.ROWS,
            "keys": autograd.KEYS, "dtype": "float32",
        },
        runs=runs,
        exponents=exponents(runs),
        tiles=tiles,
    )  # fmt: skip


if __name__ == "__main__":
    main()
