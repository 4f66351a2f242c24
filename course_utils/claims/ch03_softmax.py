"""Checks of the claims of chapter 03 about rows of scores and their softmax."""

import math

from torch import Tensor

from course_utils.claims._inputs import draw, exact, largest, row
from course_utils.claims.finding import Finding, recomputes, weigh


@recomputes("03-13")
def softmax_of_10_and_0() -> Finding:
    """[0.9999, 0.0001]."""
    weights = exact([10, 0]).softmax(0)
    large, small = map(float, weights)
    return weigh(
        f"[{large:.6f}, {small:.7f}]; the small entry is {0.0001 / small:.1f}x smaller",
        holds=math.isclose(small, 0.0001, rel_tol=0.05),
        amended=abs(large - 0.9999) < 1e-4,
    )


@recomputes("03-14")
def softmax_of_20_and_0() -> Finding:
    """[1.0, 2e-9]."""
    large, small = map(float, exact([20, 0]).softmax(0))
    return weigh(f"[{large:.1f}, {small:.3g}]", holds=f"{large:.1f} {small:.0e}" == "1.0 2e-09")


@recomputes("03-16")
def scaled_scores_lie_within_three() -> Finding:
    """The share of a standard normal distribution between -3 and 3."""
    share = math.erf(3 / math.sqrt(2))
    return weigh(f"{share:.1%} if Gaussian, at initialisation", holds=share > 0.99)


@recomputes("03-17")
def typical_score_is_12() -> Finding:
    """12.3 at d_k=64, unscaled, in deviations; the mean size of a score."""
    z, mean = 12.3 / 8, 8 * math.sqrt(2 / math.pi)
    beyond = 1 - math.erf(z / math.sqrt(2))
    return weigh(
        f"{z:.2f} sigma, exceeded {beyond:.0%} of the time; the mean |score| is {mean:.1f}",
        holds=abs(12.3 / mean - 1) < 0.2,
        amended=z < 2,
    )


@recomputes("03-19")
def same_pair_at_two_widths() -> Finding:
    """12.3 at d_k=64, 35.2 at d_k=512: equal z-scores, but not one pair."""
    z = 12.3 / 8, 35.2 / math.sqrt(512)
    return weigh(
        f"{z[0]:.2f} and {z[1]:.2f} sigma; a pair has one width",
        holds=len({64, 512}) == 1,
        amended=abs(z[0] - z[1]) < 0.05,
    )


@recomputes("03-20")
def unscaled_softmax_at_512() -> Finding:
    """[0.9997, 0.0001, 0.0001, ...] over 10 keys, against rows that are drawn."""
    total = 0.9997 + 9 * 0.0001
    rows, _ = tops(math.sqrt(512)).topk(2)
    rest = float((rows[:, 1] / (1 - rows[:, 0]).clamp_min(1e-30)).median())
    return weigh(
        f"sums to {total:.4f}; drawn rows: median top {rows[:, 0].median():.3f}, the runner-up "
        f"takes {rest:.0%} of the rest",
        holds=math.isclose(total, 1, abs_tol=1e-4) and rest < 0.2,
    )


def tops(deviation: float) -> Tensor:
    """Return 20,000 rows of weights over 10 keys whose scores have this deviation."""
    return (deviation * draw(20_000, 10)).softmax(-1)


@recomputes("03-21", "03-38", "03-39")
def gradient_of_the_top_weight() -> Finding:
    """0.9997*0.0003 = 0.0003, 800 times below 0.45 * 0.55 = 0.248; 35.2/22.6, 0.38 * 0.62."""
    picked, fine = 0.9997 * 0.0003, 0.45 * 0.55
    drawn = [tops(deviation).amax(-1) for deviation in (1, math.sqrt(64), math.sqrt(512))]
    spread = [float((top * (1 - top)).mean()) for top in drawn]
    return weigh(
        f"{picked:.4f} and {fine:.4f}, {fine / picked:.0f}x; drawn, p(1-p) falls from "
        f"{spread[0]:.3f} (scaled) to {spread[1]:.3f} (d=64) and {spread[2]:.3f} (d=512), "
        f"{spread[0] / spread[1]:.1f}x and {spread[0] / spread[2]:.0f}x; "
        f"{35.2 / 22.6:.2f}, {0.38 * 0.62:.3f}",
        holds=round(picked, 4) == 0.0003
        and abs(fine / picked / 800 - 1) < 0.05
        and abs(fine - 0.248) < 1e-3
        and (round(35.2 / 22.6, 2), round(0.38 * 0.62, 3)) == (1.56, 0.236),
    )


@recomputes("03-27")
def gradient_vanishes_at_20_and_18() -> Finding:
    """softmax([20, 18, -15, -18]) = [0.881, 0.119, 0, 0], gradient 0.105; tops 2 apart."""
    weights, sharp = exact([20, 18, -15, -18]).softmax(0), exact([20, 8, -15, -18]).softmax(0)
    slope, gone = (float(w[0] * (1 - w[0])) for w in (weights, sharp))
    right = row(weights) == "[0.881, 0.119, 0.000, 0.000]" and round(slope, 3) == 0.105
    return weigh(
        f"{row(weights)}, gradient {slope:.3f}; [20, 8, -15, -18]: {gone:.0e}",
        holds=right and slope < 0.01,
        amended=right and gone < 0.01,
    )


@recomputes("03-28")
def the_same_scores_divided_by_8() -> Finding:
    """[0.476, 0.378, 0.061, 0.085] printed."""
    weights = exact([20, 18, -15, -18]).div(8).softmax(0)
    printed = exact([0.476, 0.378, 0.061, 0.085])
    return weigh(
        f"[{weights[0]:.3f}, {weights[1]:.3f}, {weights[2]:.4f}, {weights[3]:.4f}]",
        holds=largest(weights, printed) < 1e-3,
    )
