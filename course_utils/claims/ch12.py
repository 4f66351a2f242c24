"""Checks of the claims of chapter 12 about sizes, operations and laws."""

import math

from course_utils.claims._inputs import recorded
from course_utils.claims.finding import Finding, by_machine, recomputes, undecided, weigh
from course_utils.measure import (
    compute_optimal,
    fit_scaling_law,
    training_memory_bytes,
    transformer_parameters,
)

FITS = {
    "rounded": (406.4, 410.7, 0.34, 0.28, 1.69),
    "unrounded": (406.4, 410.7, 0.3392, 0.2849, 1.69),
    "refitted": (482.01, 2085.43, 0.3478, 0.3658, 1.8172),
}


@recomputes("12-06")
def additive_attention_trains_19_times_longer() -> Finding:
    """GPT-3: QK^T and PV against all of a layer, at 2,048 tokens and at 32,768."""
    share, wide = (n / (6 * 12_288 + n) for n in (2_048, 32_768))  # 4 n^2 d of 24 n d^2 + 4 n^2 d
    times, longer = 1 + (19 - 1) * share, 1 + (19 - 1) * wide
    return weigh(
        f"{100 * share:.1f}% of the forward operations at 2,048 tokens: 19 times as costly scores "
        f"cost {times:.1f} times the whole ({longer:.1f} times at 32,768)",
        holds=times > 15,
    )


@recomputes("12-09")
def checkpointing_reduces_memory_by_root_n() -> Finding:
    """S + L/s inputs are kept for s segments of L layers, times the n tokens."""
    best = {n: min(range(1, 65), key=lambda s: n * (s + 64 / s)) for n in (128, 4096)}
    kept = {layers: min(s + layers / s for s in range(1, layers + 1)) for layers in (16, 64, 256)}
    roots = [kept[layers] / math.sqrt(layers) for layers in kept]
    return weigh(
        f"64 layers: best with {best[128]} segments at 128 tokens and at 4,096 ({best[4096]}); "
        f"kept inputs of 16, 64, 256 layers {list(kept.values())}, 2 sqrt(L)",
        holds=best[128] != best[4096],
        amended=roots == [2, 2, 2],
    )


@recomputes("12-11")
def mixed_precision_saves_half() -> Finding:
    """Bytes with Adam, in float32 and mixed: of the weights' part, and of the activations'."""
    each = [training_memory_bytes(1000, 1000, 0, "adam", mixed) / 1000 for mixed in (False, True)]
    acts = [training_memory_bytes(0, 0, 1000, "adam", mixed) / 1000 for mixed in (False, True)]
    return weigh(
        f"weights, gradients, states and copies {each[0]:g} and {each[1]:g} bytes per parameter; "
        f"activations {acts[0]:g} and {acts[1]:g} bytes each: about 50% at most",
        holds=each[1] <= 0.5 * each[0],
        amended=acts[1] == 0.5 * acts[0],
    )


@recomputes("12-12")
def mixed_precision_is_faster() -> Finding:
    """1.5 to 2 times faster: processor time of one training, recorded."""
    runs = recorded("chapter_12_dates", what="precision")
    seconds = {run["way"]: run["cpu_seconds"] for run in runs}
    return by_machine(
        f"autocast in 16 bits took {seconds['autocast'] / seconds['float32']:.1f} times as long",
        "chapter_12_dates",
    )


@recomputes("12-16")
def parameters_of_gpt_1() -> Finding:
    """117M."""
    count = transformer_parameters(40_478, 768, 12, 3072, 12, 12, 512, False, True, True)
    count -= 2 * 768  # post-norm: no last norm
    return weigh(f"{count:,}", holds=abs(count / 117e6 - 1) < 0.005)


@recomputes("12-18")
def parameters_of_gpt_2() -> Finding:
    """1.5B."""
    count = transformer_parameters(50_257, 1600, 48, 6400, 25, 25, 1024, False, True, True)
    return weigh(f"{count:,}", holds=abs(count / 1.5e9 - 1) < 0.05)


@recomputes("12-20")
def parameters_of_gpt_3() -> Finding:
    """175B parameters, 300B tokens."""
    count = transformer_parameters(50_257, 12_288, 96, 4 * 12_288, 96, 96, 2048, False, True, True)
    return weigh(
        f"{count / 1e9:.1f} B; {300e9 / count:.1f} tokens per parameter",
        holds=abs(count / 175e9 - 1) < 0.01,
    )


@recomputes("12-22")
def both_grow_as_the_root_of_compute() -> Finding:
    """Exponents of N and D in C by three fits, and tokens per parameter at Chinchilla's budget."""
    powers, tokens = [], []
    for fit in FITS.values():
        (small, fewer, _), (large, more, _) = (compute_optimal(c, *fit) for c in (5.76e21, 5.76e23))
        powers += [math.log(large / small, 100), math.log(more / fewer, 100)]
        tokens += [more / large]
    return weigh(
        f"powers {min(powers):.2f} to {max(powers):.2f} in three fits; {min(tokens):.0f} to "
        f"{max(tokens):.0f} tokens per parameter at one budget",
        holds=all(abs(exponent - 0.5) < 0.07 for exponent in powers),
    )


@recomputes("12-25")
def abilities_emerge() -> Finding:
    """One recorded run by two measures: characters, and whole dates of ten characters."""
    (run,) = recorded("chapter_12_dates", what="smoothing", smoothing=0)
    curve = [(point["accuracy"], point["exact"]) for point in run["curve"]]
    (start, nothing), off = curve[0], max(abs(a**10 - exact) for a, exact in curve)
    return undecided(
        f"at {start:.0%} of the characters {nothing:.1%} of the dates are right, in the end "
        f"{curve[-1][1]:.0%}: a jump; characters to the tenth follow it within {off:.2f}: none",
        for_it=start > 0.5 and nothing < 0.05,
        against=off < 0.1,
    )


@recomputes("12-30")
def scaling_laws_predict() -> Finding:
    """Recorded losses of widths up to 32 predict those of width 64: within how many percent?"""
    runs = recorded("chapter_12_scaling")
    small = [run for run in runs if run["d_model"] < 64]
    law = fit_scaling_law(
        *([float(run[name]) for run in small] for name in ("num_parameters", "num_tokens", "loss"))
    )
    errors = [
        abs(law(run["num_parameters"], run["num_tokens"]) / run["loss"] - 1)
        for run in runs
        if run["d_model"] == 64
    ]
    return weigh(
        f"off by {min(errors):.1%} to {max(errors):.1%} on {len(errors)} runs that were held out",
        holds=max(errors) < 0.1,
    )
