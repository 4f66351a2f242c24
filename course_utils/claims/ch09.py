"""Checks of the claims of chapter 09."""

import math

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention, tiled_attention
from course_utils.claims._inputs import draw, draws, growth, largest, recorded, refused
from course_utils.claims.ch02 import naive, shared
from course_utils.claims.figures import arithmetic, meant, said
from course_utils.claims.finding import Finding, by_machine, recomputes, weigh
from course_utils.measure import (
    additive_flops,
    attention_flops,
    largest_tensor,
    matmul_bytes,
    matmul_intensity,
    training_memory_bytes,
)

A100_PEAK, A100_BANDWIDTH = 312e12, 1.555e12  # FLOP/s in fp16, bytes/s of the 40 GB card
SIZES = (125_000_000, 350_000_000, 1_300_000_000, 6_700_000_000)
BATCH = 32 * attention_flops(1, 1, 512, 512, 64, 64)
SPEED = BATCH / 0.8e-3 / 1e12  # in 0.8 ms, in TFLOPS
INPUTS, WRITTEN = (matmul_intensity(512, 512, 64, 2, output) for output in (False, True))
SINGLE = 2 * 512 * 512 * 64 / (matmul_bytes(512, 512, 64, 2, False) + 512 * 512 * 4)


def adam(count: int) -> int:
    """Return the bytes of parameters in training: with gradients and Adam's states."""
    return int(training_memory_bytes(count, count, 0, "adam", False))


# fmt: off
arithmetic("09-08", "parameters x 4 bytes: {0:.1f}, {1:.1f}, {2:.1f}, {3:.1f GB}; the last is "
    "{3:.2f GiB}, and activations, KV cache and optimizer come on top: {7:.0f GB} with gradients "
    "and Adam's states",
    *(4 * count / 1e9 for count in SIZES[:3]), 4 * SIZES[3],
    *map(said, ("500 MB", "1.4 GB", "5.2 GB", "25.0 GB"), map(adam, SIZES)))
arithmetic("09-14", "{:.1f MFLOP}; QK^T plus AV {:.0f}",
    said("67 MFLOP", 2 * 512 * 512 * 64), attention_flops(1, 1, 512, 512, 64, 64) / 1e6)
arithmetic("09-15", "{:.0f} FLOP/B counting inputs only, {:.1f} with the 512x512 fp16 output "
    "({:.0f} with fp32); the ridge of an A100 is {:.0f}, and d_k=64 unfused never exceeds {:.0f}",
    said("511", INPUTS), said("511", WRITTEN), SINGLE, A100_PEAK / A100_BANDWIDTH,
    matmul_intensity(10**9, 10**9, 64, 2, True))
arithmetic("09-16", "{:.0f} for the inputs only, {:.0f} with the output (not 511)",
    meant("256", INPUTS), said("256", WRITTEN))
arithmetic("09-18", "batch 32, n=512, d_k=64: {:.2f GFLOP} in 0.8 ms is {:.1f} TFLOPS "
    "({:.1f} with 8 heads, {:.0f} with 12); 250 would take {:.1f} microseconds, {:.0f}x less",
    BATCH, said("250", SPEED), 8 * SPEED, 12 * SPEED, BATCH / 250e12 * 1e6, 250 / SPEED)
arithmetic("09-19", "{:.0%} of the peak; 15 ms would be {:.0f} TFLOPS by the naive count, {:.1f} "
    "by chapter 09's ({:.1f} with a tanh as three)",
    said("5%", 15 / 312), said("15", 32 * naive(512, 512) / 15e-3 / 1e12),
    said("15", 32 * additive_flops(512, 512, 512, 512, 256, True) / 15e-3 / 1e12),
    said("15", 32 * shared(512, 512) / 15e-3 / 1e12))
arithmetic("09-27", "{0:,} bytes ({0:.0f KiB}) in fp16", said("131 kB", 2 * 512 * 64 * 2))
arithmetic("09-28", "{:.1%} of 312", said("80%", 250 / 312))
# 250 TFLOPS for 0.8 ms, and 15 TFLOPS for 15 ms
arithmetic("09-29", "{:.0f} against {:.0f} Gflop, {:.1f} times, not 1000",
    250 * 0.8, 15 * 15, said("1000", (15 * 15) / (250 * 0.8)))
arithmetic("09-30", "15 ms over 0.8 ms is {:.2f}", said("19", 15 / 0.8))
# fmt: on


@recomputes("09-17")
def additive_steps_have_few_flops_a_byte() -> Finding:
    """1 to 5: six operations on a number of the tanh tensor, written and read once in fp16."""
    intensity = 6 / (2 * 2)
    return weigh(f"{intensity:.1f} FLOP/B", holds=1 <= intensity <= 5)


@recomputes("09-24")
def one_full_pass_shows_the_saving() -> Finding:
    """Prefill without a cache against decoding, with fewer key/value heads."""
    prefill = [
        f"{run['times']:.2f} with {run['what'][-1]} of 8 at {run['tokens']} tokens"
        for run in recorded("chapter_18_claims")
        if "full pass" in run["what"]
    ]
    decode = max(1 / run["over_own_16"] for run in recorded("chapter_08_cheaper", "decoding"))
    return by_machine(
        f"times faster in one full pass: {', '.join(prefill)}; a decoding step up to "
        f"{decode:.1f} with 1 of 16",
        "chapter_18_claims",
    )


@recomputes("09-25")
def tanh_is_slow() -> Finding:
    """Additive over dot-product scores at inner size 64, from the record."""
    told = [
        f"{run['times']:.0f} times as long at {run['tokens']} tokens"
        for run in recorded("chapter_18_claims")
        if "additive" in run["what"]
    ]
    return by_machine("additive scores take " + ", ".join(told), "chapter_18_claims")


@recomputes("09-26")
def gpus_are_limited_by_bandwidth() -> Finding:
    """The A100 (40 GB) computes rather than waits from about 200 FLOPs a byte on."""
    ridge = A100_PEAK / A100_BANDWIDTH
    low = {"QK^T": matmul_intensity(512, 512, 64, 2, True), "tanh": 6 / 4}
    return weigh(
        f"below about {ridge:.1f} FLOP/B: " + ", ".join(f"{n} {i:.1f}" for n, i in low.items()),
        holds=max(low.values()) < ridge,
    )


def published(
    query: Tensor, key: Tensor, value: Tensor, block: int = 4, scale: float = 1.0
) -> Tensor:
    """Return what a published sketch of flash attention adds up: a softmax for each tile."""
    out = torch.zeros_like(query)
    num_queries = query.shape[-2]
    for i in range(0, num_queries, block):
        for j in range(0, num_queries, block):
            scores = scale * query[..., i : i + block, :] @ key[..., j : j + block, :].mT
            out[..., i : i + block, :] += scores.softmax(-1) @ value[..., j : j + block, :]
    return out


@recomputes("09-02")
def tiles_are_normalised_alone() -> Finding:
    """With values of 1 attention gives 1: what does a softmax for each tile give?"""
    query, key = draws((1, 1, 16, 8), (1, 1, 16, 8))
    ones = torch.ones_like(query)
    found = {n: float(published(query, key, ones, 16 // n).mean()) for n in (2, 4, 8)}
    q, k, v = (x.float() for x in draws(*[(1, 1, 64, 8)] * 3))
    exact = largest(tiled_attention(q, k, v, 8, 16)[0], scaled_dot_product_attention(q, k, v))
    return weigh(
        f"the weights sum to {', '.join(f'{v:.1f} in {n} tiles' for n, v in found.items())}; with "
        f"a running maximum and sum {exact:.0e} from exact",
        holds=abs(found[4] - 1) < 1e-9,
    )


@recomputes("09-03")
def scale_may_be_left_out() -> Finding:
    """One tile, so that the tiling is right: with 1/sqrt(d_k) and without it."""
    query, key, value = draws(*[(1, 1, 8, 16)] * 3)
    right = scaled_dot_product_attention(query, key, value)
    off = [largest(published(query, key, value, 8, s), right) for s in (1.0, 1 / math.sqrt(16))]
    return weigh(f"{off[0]:.2f} off without it, {off[1]:.0e} with it", holds=off[0] < 1e-9)


@recomputes("09-04")
def output_has_the_shape_of_the_queries() -> Finding:
    """d_v=5 against d_k=8; 8 queries and 16 keys whose last 8 are changed."""
    query, key, value, wide = draws((1, 1, 8, 8), (1, 1, 16, 8), (1, 1, 16, 8), (1, 1, 16, 5))
    error = refused(lambda: published(query, key, wide))
    other = value.clone()
    other[..., 8:, :] = 100
    unread = largest(published(query, key, value), published(query, key, other)) == 0
    shape = tuple(tiled_attention(query, key, wide, 4, 4)[0].shape[-2:])
    return weigh(
        f"other widths: {error}; keys behind the 8th never read: {unread}; right: {shape}",
        holds=not error and not unread,
    )


@recomputes("09-05")
def flash_attention_requires_cuda() -> Finding:
    """The algorithm on a CPU: exact, its largest tensor by length, and its time by the record."""
    power = growth(_largest_in_tiles, 64, 128, 256)
    runs = recorded("chapter_09_tiled", what="tiled", training=False, is_causal=False)
    slower = [run["over_sdpa"] for run in runs]
    return weigh(
        f"plain tensor code: largest tensor n^{power:.1f}; {min(slower):.1f} to {max(slower):.1f} "
        "times the time of a fused kernel on a CPU",
        holds=power > 1.5,
        amended=power < 1.1 and max(slower) > 1,
    )


def _largest_in_tiles(n: int) -> int:
    return largest_tensor(lambda x: tiled_attention(x, x, x, 16, 16)[0], draw(1, 1, n, 16))


@recomputes("09-31")
def memory_is_linear_and_exact() -> Finding:
    """The largest tensor in tiles by length, and the difference from the whole table."""
    power = growth(_largest_in_tiles, 64, 128, 256)
    query, key, value = draws((2, 3, 40, 8), (2, 3, 50, 8), (2, 3, 50, 6))
    off = largest(
        tiled_attention(query, key, value, 7, 9)[0], scaled_dot_product_attention(query, key, value)
    )
    return weigh(f"n^{power:.2f}; {off:.0e} apart", holds=power < 1.1 and off < 1e-12)
