"""Checks of the claims of chapter 02 that are arithmetic."""

import math
from itertools import combinations_with_replacement

import torch

from course_utils.claims._inputs import exact, row
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import additive_flops

SCORES = exact([0.8, 2.1, 0.5])
STATES = exact([[1, 0.5, -0.3, 0.8], [0.3, 0.9, 0.6, -0.2], [-0.4, 0.2, 0.7, 0.5]])


def naive(n: int, m: int, d_a: int = 256, d_s: int = 512, d_h: int = 512) -> int:
    """Return the FLOPs of additive scores, each on its own, where a tanh counts as three."""
    return n * m * 2 * d_a * (d_s + d_h + 3)


def shared(n: int, m: int, d_a: int = 256, d: int = 512) -> int:
    """Return the FLOPs of the same scores where each state is projected once."""
    return 2 * d * d_a * (n + m) + n * m * 6 * d_a


@recomputes("02-03")
def one_additive_score() -> Finding:
    """Two products, the sum, the tanh counted as 3, the product with v: 2*d_a*(d_s+d_h+3)."""
    items = [2 * 256 * 512, 2 * 256 * 512, 256, 3 * 256, 2 * 256]
    return weigh(f"{sum(items):,} FLOPs at widths 512, 512, 256", holds=sum(items) == naive(1, 1))


@recomputes("02-04")
def all_scores_cost_nm_times_one() -> Finding:
    """n=m=50: W1 s_t once for each t, W2 h_i once for each i; a tanh of one or three operations."""
    sizes = (50, 50, 512, 512, 256)
    one = additive_flops(*sizes, False) / additive_flops(*sizes, True)
    three = naive(50, 50) / shared(50, 50)
    return weigh(
        f"projected once each, {three:.1f} times less (a tanh as 3), {one:.1f} (as 1)",
        holds=three == 1,
        amended=naive(50, 50) == 50 * 50 * naive(1, 1),
    )


@recomputes("02-06")
def tanh_takes_two_and_a_half_megabytes() -> Finding:
    """50 by 50 by 256 numbers of 4 bytes: 2.5 MB, 80 MB for a batch of 32."""
    one, batch = 50 * 50 * 256 * 4, 32 * 50 * 50 * 256 * 4
    return weigh(
        f"{one / 1e6:.2f} MB ({one / 2**20:.2f} MiB) and "
        f"{batch / 1e6:.1f} MB ({batch / 2**20:.0f} MiB)",
        holds=abs(one / 1e6 - 2.5) < 0.1 and abs(batch / 1e6 - 80) < 2,
    )


@recomputes("02-07")
def additive_parameters() -> Finding:
    """d_a=256, d_s=d_h=512: W1, W2 and v have 262,400."""
    count = 256 * 512 + 256 * 512 + 256
    return weigh(f"{count:,}", holds=count == 262_400)


@recomputes("02-08")
def second_key_takes_678_thousandths() -> Finding:
    """Scores 0.8, 2.1, 0.5; which gaps of one decimal round to 0.678."""
    weights = SCORES.softmax(0)
    tenths = range(1, 60)
    gaps = [
        (a / 10, b / 10)
        for a, b in combinations_with_replacement(tenths, 2)
        if round(1 / (1 + math.exp(-a / 10) + math.exp(-b / 10)), 3) == 0.678
    ]
    return weigh(
        f"{row(weights, 4)}; gaps that give 0.678: {gaps}",
        holds=round(float(weights[1]), 3) == 0.678 and (1.3, 1.6) in gaps,
    )


@recomputes("02-09")
def a_weight_of_678_thousandths_is_sharp() -> Finding:
    """0.678 of three: its entropy against the uniform maximum."""
    weights = SCORES.softmax(0)
    share = float(-(weights * weights.log()).sum()) / math.log(3)
    return weigh(
        f"top weight {weights.max():.3f}, entropy {share:.0%} of the maximum",
        holds=share < 0.5,
        amended=float(weights.max()) > 0.5,
    )


@recomputes("02-10")
def additive_attention_costs_69_billion() -> Finding:
    """n=m=512 by the text's own formula."""
    count = naive(512, 512)
    return weigh(
        f"{count / 1e9:.1f} billion; half of it is {count / 2e9:.0f}",
        holds=round(count / 1e9) == 69,
    )


@recomputes("02-11")
def scaled_dot_product_is_1000_times_cheaper() -> Finding:
    """At n=m=512, d_a=256, d_k=64; then with two projections and inner size 256 for both."""
    products = 2 * 512 * 512 * 64
    dot, fair = 2 * products, 2 * (2 * 512 * 512 * 256) + 2 * 512 * 512 * 256
    ours = shared(512, 512)
    ratios = (naive(512, 512) / dot, ours / dot, ours / products, ours / fair)
    return weigh(
        f"{ratios[0]:.0f}x naive; {ratios[1]:.0f}x ({ours / 1e9:.3f} vs {dot / 1e9:.3f} GFLOP) "
        f"with W1 s and W2 h once, {ratios[2]:.0f}x vs QK^T; {ratios[3]:.2f}x ({ours / 1e6:.0f} "
        f"vs {fair / 1e6:.0f} MFLOP) at equal size; per pair 6 d_a vs 2 d_k = {6 // 2}x",
        holds=any(800 < ratio < 1250 for ratio in ratios),
    )


@recomputes("02-16")
def worked_scores() -> Finding:
    """1.147, 1.089, 1.118, 0.856, from the numbers of the example."""
    printed = exact([1.147, 1.089, 1.118, 0.856])
    right, exchanged = _worked()
    return weigh(
        f"{row(right)}, or {row(exchanged)} with the matrices exchanged",
        holds=any(torch.allclose(printed, scores, atol=1e-3) for scores in (right, exchanged)),
    )


@recomputes("02-17")
def worked_weights() -> Finding:
    """[0.268, 0.252, 0.260, 0.220], from the right scores or from those printed."""
    printed = exact([0.268, 0.252, 0.260, 0.220])
    theirs = exact([1.147, 1.089, 1.118, 0.856]).softmax(0)
    right = _worked()[0].softmax(0)
    return weigh(
        f"right {row(right)}; softmax of the printed scores {row(theirs)}",
        holds=any(torch.allclose(printed, each, atol=1e-3) for each in (right, theirs)),
    )


def _worked() -> list[torch.Tensor]:
    first = exact([[0.5, -0.3, 0.2], [0.4, 0.6, -0.1]])
    second = exact([[0.3, 0.5, 0.2], [-0.2, 0.4, 0.6]])
    states = exact([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
    state, v = exact([0.5] * 3), exact([1, 0.8])
    orders = (first, second), (second, first)
    return [torch.tanh(a @ state + states @ b.mT) @ v for a, b in orders]


@recomputes("02-27")
def what_an_additive_score_keeps() -> Finding:
    """n=m=50: n d_h, nm, nm and nm d_a numbers of 4 bytes; 102 kB, 10 kB and 10 kB."""
    kept = [4 * 50 * 512, 4 * 50 * 50, 4 * 50 * 50, 4 * 50 * 50 * 256]
    return weigh(
        ", ".join(f"{n / 1000:.0f} kB" for n in kept),
        holds=[round(n / 1000) for n in kept[:3]] == [102, 10, 10],
    )


@recomputes("02-28")
def sum_of_exponentials() -> Finding:
    """About 12.05, or 12.04."""
    terms = SCORES.exp()
    rounded = math.fsum(round(float(term), 2) for term in terms)
    return weigh(
        f"{terms.sum():.2f} ({terms.sum():.4f}); the rounded terms sum to {rounded:.2f}",
        holds=round(float(terms.sum()), 2) == 12.05,
        amended=round(rounded, 2) == 12.05,
    )


@recomputes("02-29")
def context_is_dominated_by_the_second_state() -> Finding:
    """Weights (0.185, 0.678, 0.137)."""
    weights = SCORES.softmax(0)
    sizes = (weights[:, None] * STATES).norm(dim=-1)
    return weigh(
        f"weights {row(weights)}, parts of length {row(sizes, 2)}",
        holds=row(weights) == "[0.185, 0.678, 0.137]" and int(sizes.argmax()) == 1,
    )
