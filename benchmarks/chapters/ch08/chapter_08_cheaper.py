"""Measure how every attention of chapter 08 grows, and what it gains over torch's own.

Method: one thread, float32, one sequence; 4 heads of width 64 but for decoding, which has 16. Calls
are compared as `timing.py` says. FLOPs (of matrix products) and the largest tensor are counted; the
peak is the most that torch's allocator held beyond the inputs.

Four tables: `runs` has every variant at every length, `exponents` the power laws fitted to them,
`window` and `causal_linear` what the two cheap causal ones gain over SDPA and FlexAttention, and
`decoding` the time of one new token by the number of key/value heads. It takes about a quarter of
an hour on one core; FlexAttention needs a C++ compiler, and is left out without one.

    python -m benchmarks.chapters.ch08.chapter_08_cheaper
"""

import shutil
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from tqdm import tqdm

from benchmarks.peers.cheaper_variants import (
    FEATURES,
    HEADS,
    MIXTURES,
    REACH,
    THEORY,
    WINDOW,
    inputs,
    variants,
)
from benchmarks.recording import Row, Script
from benchmarks.timing import Call, in_rounds, milliseconds, ratio
from course_utils.attention import grouped_query_attention, sliding_window_attention, window_mask
from course_utils.measure import count_flops, fit_power_law, largest_tensor, peak_memory

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
LINEAR_LENGTHS, DECODE_LENGTHS = (512, 1024, 2048, 4096, 8192), (512, 2048, 8192)
FROM = {"512 to 8192": (512, 8192), "1024 on": (1024, 16384), "4096 on": (4096, 16384)}
QUANTITIES = ("milliseconds", "flops", "largest_tensor", "peak_bytes")
DECODE_HEADS = 16


def growth(rounds: int) -> list[Row]:
    """Return every variant's time, FLOPs, largest tensor and peak at each length."""
    rows = []
    for length in tqdm(LENGTHS, desc="growth", ncols=80):
        calls = variants(length)
        seconds = in_rounds(calls, rounds)
        for name, call in calls.items():
            bare = partial(call.func, **call.keywords)  # views of what is given cost nothing
            rows.append({
                "what": name, "length": length, "milliseconds": milliseconds(seconds[name]),
                "flops": count_flops(call), "largest_tensor": largest_tensor(bare, *call.args),
                "peak_bytes": peak_memory(call),
            })  # fmt: skip
    return rows


def exponents(runs: list[Row]) -> list[Row]:
    """Return the power laws of all variants, over each range where three lengths were measured."""
    rows = []
    for name, (theory, _) in THEORY.items():
        for span, (low, high) in FROM.items():
            points = [r for r in runs if r["what"] == name and low <= r["length"] <= high]
            if len(points) < 3 or points[-1]["length"] < min(high, THEORY[name][1]):
                continue
            lengths = [p["length"] for p in points]
            laws = {what: fit_power_law(lengths, [p[what] for p in points]) for what in QUANTITIES}
            fitted = {what: round(law.exponent, 3) for what, law in laws.items()}
            error = round(laws["milliseconds"].error, 3)
            row = {"what": name, "lengths": span, "theory": theory}
            rows.append({**row, **fitted, "error_of_time": error})
    return rows


def flex_call(length: int, window: int) -> Call:
    """Return compiled FlexAttention under the same window, its mask of blocks made beforehand."""
    torch._dynamo.reset()
    torch._dynamo.config.fail_on_recompile_limit_hit = True  # else it falls back to all scores

    def seen(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (k <= q) & (q - k < window)

    blocks = torch.compile(create_block_mask)(seen, None, None, length, length, device="cpu")
    return partial(torch.compile(flex_attention, dynamic=False), *inputs(length), block_mask=blocks)


def window_gain(rounds: int) -> list[Row]:
    """Compare the window with causal SDPA, with SDPA under its mask, and with FlexAttention."""
    cases = [(length, window) for window in (128, 512) for length in LENGTHS]
    rows = []
    for length, window in tqdm(cases, desc="window", ncols=80):
        q, k, v = inputs(length)
        sdpa = partial(F.scaled_dot_product_attention, q, k, v)
        calls: dict[str, Call] = {
            "window": partial(sliding_window_attention, q, k, v, window),
            "causal": partial(sdpa, is_causal=True),
            "masked": partial(sdpa, attn_mask=window_mask(length, length, window)),
        }
        if length >= 4096 and shutil.which("g++"):
            calls["flex"] = flex_call(length, window)
        rows.append(compared(calls, rounds, {"length": length, "window": window}))
    return rows


def linear_gain(rounds: int) -> list[Row]:
    """Compare the causal kernels, the textbook's running sum too, with causal SDPA."""
    names = {
        "chunks": "causal linear, chunks", "states": "causal linear, all states",
        "recurrent": "causal linear, recurrent", "causal": "SDPA, causal",
    }  # fmt: skip
    rows = []
    for length in tqdm(LINEAR_LENGTHS, desc="linear", ncols=80):
        calls = variants(length)
        picked = {short: calls[name] for short, name in names.items()}
        rows.append(compared(picked, rounds, {"length": length}))
    return rows


def decoding(rounds: int) -> list[Row]:
    """Time attention for one new token, as key and value heads are shared by more query heads."""
    rows = []
    for length in tqdm(DECODE_LENGTHS, desc="decoding", ncols=80):
        every, key, value = inputs(length, DECODE_HEADS)
        query, calls = every[:, :, -1:], {}
        for kv_heads in (16, 8, 4, 2, 1):
            k, v = (x[:, :kv_heads].clone() for x in (key, value))
            calls[f"{kv_heads}, ours"] = partial(grouped_query_attention, query, k, v)
            calls[f"{kv_heads}, enable_gqa"] = partial(
                F.scaled_dot_product_attention, query, k, v, enable_gqa=kv_heads < DECODE_HEADS
            )
            calls[f"{kv_heads}, repeated"] = partial(repeated, query, k, v)
        seconds = in_rounds(calls, 3 * rounds, 0.02)
        whole = {way: seconds[f"16, {way}"] for way in ("ours", "enable_gqa", "repeated")}
        for name, measured in seconds.items():
            kv_heads, way = name.split(", ")
            rows.append({
                "length": length, "kv_heads": int(kv_heads), "way": way,
                "milliseconds": milliseconds(measured),
                "over_own_16": ratio(measured, whole[way]),
                "over_sdpa_16": ratio(measured, whole["enable_gqa"]),
            })  # fmt: skip
    return rows


def repeated(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return grouped attention as usual: every shared head is copied for each query head."""
    group = query.shape[1] // key.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) for x in (key, value))
    return F.scaled_dot_product_attention(query, k, v)


def compared(calls: dict[str, Call], rounds: int, row: Row) -> Row:
    """Return the times of all calls, and how many times slower than the first the others are."""
    seconds = in_rounds(calls, rounds)
    first = next(iter(calls))
    row = {**row, "milliseconds": {name: milliseconds(one) for name, one in seconds.items()}}
    row["times_slower"] = {
        name: ratio(one, seconds[first]) for name, one in seconds.items() if name != first
    }
    return row


def main() -> None:
    """Measure everything and write one JSON file."""
    script = Script(__file__, __doc__, rounds=7)
    rounds = script.options.rounds
    with torch.inference_mode():
        runs = growth(rounds)
        window, causal_linear = window_gain(rounds), linear_gain(rounds)
        new_token = decoding(rounds)
    script.record(
        what="growth of every cheaper attention with length, and its gain over torch's own",
        settings={
            "heads": HEADS, "d_k": 64, "window": WINDOW, "features": FEATURES,
            "mixtures": MIXTURES, "reach": REACH, "dtype": "float32",
        },
        runs=runs,
        exponents=exponents(runs),
        window=window,
        causal_linear=causal_linear,
        decoding=new_token,
    )  # fmt: skip


if __name__ == "__main__":
    main()
