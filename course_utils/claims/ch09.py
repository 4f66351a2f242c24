"""Checks of the claims of chapter 09 that are arithmetic."""

from course_utils.claims._inputs import recorded
from course_utils.claims.ch02 import naive
from course_utils.claims.finding import Finding, by_machine, recomputes, weigh
from course_utils.measure import additive_flops, attention_flops, matmul_bytes, matmul_intensity

A100_PEAK, A100_BANDWIDTH = 312e12, 1.555e12  # FLOP/s in fp16, bytes/s of the 40 GB card
SIZES = {"125M": 125e6, "350M": 350e6, "1.3B": 1.3e9, "6.7B": 6.7e9}
BATCH = 32 * attention_flops(1, 1, 512, 512, 64, 64)


@recomputes("09-08")
def total_memory_of_four_models() -> Finding:
    """500 MB, 1.4 GB, 5.2 GB, 25.0 GB: parameters x 4 bytes, and what their training holds."""
    only = [4 * count for count in SIZES.values()]
    told = [500e6, 1.4e9, 5.2e9, 25.0e9]
    return weigh(
        f"parameters x 4 bytes: {', '.join(f'{n / 1e9:.1f}' for n in only)} GB; the last is "
        f"{only[-1] / 2**30:.2f} GiB, and activations, KV cache and optimizer come on top",
        holds=all(abs(a / b - 1) < 0.02 for a, b in zip(only, told, strict=True)),
    )


@recomputes("09-14")
def scores_take_67_million_flops() -> Finding:
    """2*512*512*64 for QK^T alone."""
    count = 2 * 512 * 512 * 64
    return weigh(
        f"{count / 1e6:.1f} MFLOP; QK^T plus AV {2 * count / 1e6:.0f}",
        holds=round(count / 1e6) == 67,
    )


@recomputes("09-15")
def intensity_is_511() -> Finding:
    """FLOPs per byte of QK^T, 512 queries and keys of width 64, fp16, against the A100."""
    inputs = matmul_intensity(512, 512, 64, 2, False)
    written = matmul_intensity(512, 512, 64, 2, True)
    flops = 2 * 512 * 512 * 64
    single = flops / (matmul_bytes(512, 512, 64, 2, False) + 512 * 512 * 4)
    ridge, limit = A100_PEAK / A100_BANDWIDTH, 2 * 64 / 2
    return weigh(
        f"{inputs:.0f} FLOP/B counting inputs only, {written:.1f} with the 512x512 fp16 output "
        f"({single:.0f} with fp32); the ridge of an A100 is {ridge:.0f}, and d_k=64 unfused never "
        f"exceeds {limit:.0f}",
        holds=written > ridge,
    )


@recomputes("09-16")
def intensity_is_about_256() -> Finding:
    """256 with the inputs only; with the output written."""
    inputs, written = (matmul_intensity(512, 512, 64, 2, output) for output in (False, True))
    return weigh(
        f"{inputs:.0f} for the inputs only, {written:.0f} with the output (not 511)",
        holds=round(written) == 256,
        amended=round(inputs) == 256,
    )


@recomputes("09-17")
def additive_steps_have_few_flops_a_byte() -> Finding:
    """1 to 5: six operations on a number of the tanh tensor, written and read once in fp16."""
    intensity = 6 / (2 * 2)
    return weigh(f"{intensity:.1f} FLOP/B", holds=1 <= intensity <= 5)


@recomputes("09-18")
def attention_reaches_250_tflops() -> Finding:
    """Batch 32, n=512, d_k=64 in 0.8 ms, with 1, 8 and 12 heads."""
    speeds = {heads: heads * BATCH / 0.8e-3 / 1e12 for heads in (1, 8, 12)}
    return weigh(
        f"{BATCH / 1e9:.2f} GFLOP in 0.8 ms is {speeds[1]:.1f} TFLOPS ({speeds[8]:.1f} with 8 "
        f"heads, {speeds[12]:.0f} with 12); 250 would take {BATCH / 250e12 * 1e6:.1f} "
        f"microseconds, {250 / speeds[1]:.0f}x less",
        holds=abs(speeds[1] / 250 - 1) < 0.1,
    )


@recomputes("09-19")
def additive_reaches_15_tflops() -> Finding:
    """15 ms at 15 TFLOPS, 5% of the peak: by the naive count, and with the projections shared."""
    once = 32 * additive_flops(512, 512, 512, 512, 256, True)
    tanh_as_three = 32 * (2 * 512 * 256 * 1024 + 512 * 512 * 6 * 256)
    speeds = [count / 15e-3 / 1e12 for count in (32 * naive(512, 512), once, tanh_as_three)]
    return weigh(
        f"{15 / 312:.0%} of the peak; 15 ms would be {speeds[0]:.0f} TFLOPS by the naive count, "
        f"{speeds[1]:.1f} by chapter 09's ({speeds[2]:.1f} with a tanh as three)",
        holds=any(abs(speed / 15 - 1) < 0.1 for speed in speeds),
    )


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


@recomputes("09-27")
def queries_and_keys_load_131_kilobytes() -> Finding:
    """Two of 512x64 in fp16."""
    num_bytes = 2 * 512 * 64 * 2
    return weigh(
        f"{num_bytes:,} bytes ({num_bytes // 1024} KiB)", holds=round(num_bytes / 1000) == 131
    )


@recomputes("09-28")
def two_hundred_fifty_is_80_percent() -> Finding:
    """250 of 312 TFLOPS."""
    share = 250e12 / A100_PEAK
    return weigh(f"{share:.1%} of 312", holds=f"{share:.0%}" == "80%")


@recomputes("09-29")
def timings_agree_with_1000_times_fewer() -> Finding:
    """Speed x time of both: 250 TFLOPS for 0.8 ms, 15 TFLOPS for 15 ms."""
    work = 250e12 * 0.8e-3 / 1e9, 15e12 * 15e-3 / 1e9
    return weigh(
        f"{work[0]:.0f} against {work[1]:.0f} Gflop, {work[1] / work[0]:.1f} times, not 1000",
        holds=work[1] / work[0] > 500,
    )


@recomputes("09-30")
def speed_up_of_19() -> Finding:
    """15 ms over 0.8 ms."""
    return weigh(f"{15 / 0.8:.2f}", holds=round(15 / 0.8) == 19)


@recomputes("09-32")
def benchmark_runs_1000_passes() -> Finding:
    """What the listing runs: n_iters = 100 on a GPU, 10 on a CPU."""
    passes = {device: 100 if device == "cuda" else 10 for device in ("cuda", "cpu")}
    return weigh(f"{passes}, of 1000 in the title", holds=1000 in passes.values())
