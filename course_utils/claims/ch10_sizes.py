"""Checks of the claims of chapter 10 about sizes."""

from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import kv_cache_bytes


@recomputes("10-06")
def a_billion_parameters() -> Finding:
    """1B in 32 bits and in 16: about 4 GB and 2 GB."""
    sizes = [10**9 * bits // 8 / 1e9 for bits in (32, 16)]
    return weigh(f"{sizes[0]:g} GB and {sizes[1]:g} GB, decimal", holds=sizes == [4, 2])


@recomputes("10-07")
def weights_take_16_megabytes_a_layer() -> Finding:
    """n=2048 in 32 bits: one head of one sequence, and 16 to 32 heads."""
    head = 2048**2 * 4 / 2**20
    return weigh(
        f"one head {head:.0f} MiB; 16-32 heads {16 * head:.0f}-{32 * head:.0f} MiB per layer and "
        "sequence, 0 if fused",
        holds=16 * head < 32,
    )


@recomputes("10-09")
def cache_of_a_billion_parameters() -> Finding:
    """About 500 MB for a 1B model at 2048: L=24, d=2048 (GPT-3 1.3B), in 16 and 32 bits."""
    half, full = (kv_cache_bytes(24, 16, 128, 2048, 1, width) / 2**20 for width in (2, 4))
    double = kv_cache_bytes(24, 16, 128, 2048, 2, 2) / 2**20 / half
    shared = half / (kv_cache_bytes(24, 2, 128, 2048, 1, 2) / 2**20)
    return weigh(
        f"{half:.0f} MiB fp16, {full:.0f} MiB fp32; batch 2 {double:.0f}x, 8x fewer KV heads "
        f"{shared:.0f}x less",
        holds=abs(half / 500 - 1) < 0.1,
        amended=half < 500 < full,
    )


@recomputes("10-11")
def cache_of_a_token() -> Finding:
    """2*h*d_k numbers with h heads, 2*d_k with one, 8*d_k with 4; LLaMA-2-70B in 16 bits."""
    numbers = {heads: kv_cache_bytes(1, heads, 128, 1, 1, 1) // 128 for heads in (64, 1, 4)}
    llama = {heads: kv_cache_bytes(80, heads, 128, 1, 1, 2) for heads in (64, 8)}
    return weigh(
        f"numbers over d_k by heads {numbers}; {llama[64] / 1e6:.2f} MB a token with 64 heads, "
        f"{llama[8] / 1024:.0f} KiB with 8",
        holds=numbers == {64: 2 * 64, 1: 2, 4: 8},
    )


@recomputes("10-13")
def a_token_costs_n() -> Finding:
    """Query-key pairs of 1000 tokens with the cache, and computing all again for each."""
    cached, again = sum(range(1, 1001)), sum(n * n for n in range(1, 1001))
    last = [1000, 1000**2]
    return weigh(
        f"the token at 1000 costs {last[0]:,} pairs for {last[1]:,}; all 1000 {cached:,} for "
        f"{again:,}, {again / cached:.0f}x less",
        holds=last[0] * 1000 == last[1],
    )
