"""The table of the page "What each scheme keeps, and who uses it": bytes and exponents from code.

Bytes come from `kv_cache_bytes`, exponents from the FLOPs of the course's own functions at two
lengths. Only what a scheme keeps, and who uses it, is written here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from course_utils.attention import (
    absorbed_latent_attention,
    causal_linear_attention,
    grouped_query_attention,
    scaled_dot_product_attention,
    sliding_window_attention,
)
from course_utils.attention.cheaper.block_selected import block_selected_attention
from course_utils.attention.states.linear_step import linear_attention_step
from course_utils.measure import count_flops, kv_cache_bytes
from course_utils.positions import index_scores

HEADS, SHARED, WIDTH, LATENT, ROTATED, WINDOW = 32, 8, 128, 512, 64, 1024
INDEXED, FULL_EVERY, LONG, BYTES = 128, 6, 131_072, 2
LENGTHS = (512, 2048)  # where FLOPs are counted, with one narrow head
NARROW, SMALL_WINDOW, BLOCK, PICKED, CHOSEN = 4, 64, 64, 2, 32


@dataclass(frozen=True)
class Scheme:
    """One row.

    Attributes:
        name: What it is called, with its chapter.
        kept: What a layer keeps for each token, in numbers.
        bytes: What a layer keeps after a number of tokens, with the sizes above.
        prefill: FLOPs of reading that many tokens.
        step: FLOPs of one more token behind them.
        users: Models, years, citations.
    """

    name: str
    kept: str
    bytes: Callable[[int], int]
    prefill: Callable[[int], int]
    step: Callable[[int], int]
    users: str


def _flops(function: Callable[..., object], lengths: Sequence[int], *more: int) -> int:
    """Count a call's FLOPs: a query, a key and a value of these lengths, with one narrow head."""
    drawn = (torch.ones(1, 1, length, NARROW) for length in lengths)
    return count_flops(function, *drawn, *more)


def _full(length: int) -> int:
    return _flops(scaled_dot_product_attention, [length] * 3)


def _full_step(length: int) -> int:
    return _flops(grouped_query_attention, [1, length, length])


def _latent(new: int, length: int) -> int:
    sizes = ((1, 1, new, 2 * NARROW), (1, length, 2 * NARROW), (1, NARROW, NARROW))
    query, cache, up = (torch.ones(size) for size in sizes)
    return count_flops(absorbed_latent_attention, query, cache, up, up)


def _chosen_step(length: int) -> int:
    """Count one row of the indexer's table, and attention to a few keys."""
    query, key, weights = (torch.ones(1, 1, length, n) for n in (NARROW, NARROW, 1))
    table = count_flops(index_scores, query, key[0], weights[..., 0])
    return table // length + _latent(1, min(length, CHOSEN))


def _window(length: int) -> int:
    return _flops(sliding_window_attention, [length] * 3, SMALL_WINDOW)


def _window_step(length: int) -> int:
    return _full_step(min(length, SMALL_WINDOW))


def _linear_step(length: int) -> int:
    state, row = torch.ones(NARROW, NARROW), torch.ones(NARROW)
    return count_flops(linear_attention_step, state, row, row, row, row)


def _blocks(length: int) -> int:
    return _flops(block_selected_attention, [length] * 3, BLOCK, PICKED)


def _cache(heads: int, tokens: int, width: int = WIDTH) -> int:
    return kv_cache_bytes(1, heads, width, tokens, 1, BYTES)


def _hybrid(tokens: int) -> int:
    """Return the mean over the layers, of which one in `FULL_EVERY` keeps all."""
    near = (FULL_EVERY - 1) * _cache(SHARED, min(tokens, WINDOW))
    return (near + _cache(SHARED, tokens)) // FULL_EVERY


SCHEMES = (
    Scheme("MHA (05)", "$2 H d$", lambda n: _cache(HEADS, n), _full, _full_step,
           "GPT-2 {cite:p}`radford2019language`; Llama {cite:p}`touvron2023llama`"),
    Scheme("MQA (08)", "$2 d$", lambda n: _cache(1, n), _full, _full_step,
           "PaLM {cite:p}`chowdhery2022palm`"),
    Scheme("GQA (08)", "$2 H_{kv} d$", lambda n: _cache(SHARED, n), _full, _full_step,
           "Llama 2 70B {cite:p}`touvron2023llama2`; Llama 3 "
           "{cite:p}`grattafiori2024llama`; Qwen 3 {cite:p}`qwen2025qwen3`"),
    Scheme("latent, MLA (08)", "$r + d_\\text{rope}$",
           lambda n: _cache(1, n, (LATENT + ROTATED) // 2), lambda n: _latent(n, n),
           lambda n: _latent(1, n),
           "DeepSeek-V2 {cite:p}`deepseek2024v2`; -V3 {cite:p}`deepseek2024v3`"),
    Scheme("the same, keys chosen by an indexer (08)", "$r + d_\\text{rope} + d_I$, few are read",
           lambda n: _cache(1, n, (LATENT + ROTATED + INDEXED) // 2),
           lambda n: n * _chosen_step(n), _chosen_step, "DeepSeek-V3.2 {cite:p}`deepseek2025v32`"),
    Scheme("window $w$ (08)", "$2 H_{kv} d$, at most $w$ tokens",
           lambda n: _cache(SHARED, min(n, WINDOW)), _window, _window_step,
           "Mistral 7B {cite:p}`jiang2023mistral`"),
    Scheme(f"window, 1 full layer in {FULL_EVERY} (10)", "mean of the two", _hybrid,
           lambda n: _window(n) + _full(n), lambda n: _window_step(n) + _full_step(n),
           "Gemma 3 {cite:p}`gemma2025gemma3`; 1 in 2: Gemma 2 "
           "{cite:p}`gemma2024gemma2`"),
    Scheme("the same with sinks (08)", "the same, a number per head and layer", _hybrid,
           lambda n: _window(n) + _full(n), lambda n: _window_step(n) + _full_step(n),
           "1 in 2: gpt-oss {cite:p}`openai2025gptoss`"),
    Scheme("selected blocks (08)", "$2 H_{kv} d$, few are read", lambda n: _cache(SHARED, n),
           _blocks, lambda n: _blocks(n) - _blocks(n - BLOCK),
           "MoBA {cite:p}`lu2025moba`; NSA {cite:p}`yuan2025native`"),
    Scheme("linear, a state (08, 17)", "0; a state of $H d^2$",
           lambda n: HEADS * WIDTH * WIDTH * BYTES,
           lambda n: _flops(causal_linear_attention, [n] * 3), _linear_step,
           "RWKV {cite:p}`peng2023rwkv`; with full layers: Kimi Linear "
           "{cite:p}`kimi2025linear`"),
)  # fmt: skip


def exponent(flops: Callable[[int], int]) -> float:
    """Return the power of the length with which the FLOPs grow between the two lengths."""
    few, many = (flops(length) for length in LENGTHS)
    return math.log(many / few) / math.log(LENGTHS[1] / LENGTHS[0])


def sizes() -> str:
    """Return the sentence that says for which sizes the bytes are."""
    own = (
        f"H = {HEADS}", f"H_{{kv}} = {SHARED}", f"d = {WIDTH}", f"r = {LATENT}",
        f"d_\\text{{rope}} = {ROTATED}", f"d_I = {INDEXED}", f"w = {WINDOW}",
    )  # fmt: skip
    few, many = LENGTHS
    return (
        f"The bytes are those of {', '.join(f'${one}$' for one in own)} and {BYTES} bytes per "
        f"number; MiB are per layer after {LONG:,} tokens; exponents are from {few:,} to {many:,} "
        "tokens."
    )


def markdown() -> str:
    """Return the table."""
    head = "| scheme | kept per token and layer | bytes | MiB | prefill | step | used by |"
    rows = [head, "|---|---|--:|--:|--:|--:|---|"]
    for one in SCHEMES:
        added = (one.bytes(LONG + FULL_EVERY) - one.bytes(LONG)) / FULL_EVERY
        powers = (f"{exponent(flops):.1f}" for flops in (one.prefill, one.step))
        cells = (one.name, one.kept, f"{added:,.0f}", f"{one.bytes(LONG) / 2**20:,.1f}", *powers)
        rows.append("| " + " | ".join((*cells, one.users)) + " |")
    return "\n".join(rows)
