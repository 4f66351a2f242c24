"""Checks of the claims of chapter 03 about rows of scores and their softmax."""

import math
from functools import partial

import torch
from torch import Tensor

from course_utils.attention import attention_weights, softmax_jacobian
from course_utils.claims._inputs import draw, exact, largest, row
from course_utils.claims.finding import Finding, recomputes, weigh


def tops(deviation: float) -> Tensor:
    """Return 20,000 rows of weights over 10 keys whose scores have this deviation."""
    return (deviation * draw(20_000, 10)).softmax(-1)


@recomputes("03-02", "03-58")
def scale_keeps_the_gradient() -> Finding:
    """The median norm of the softmax's Jacobian, 10 keys, with 1/sqrt(d_k) and without it."""
    norms = {
        name: float(softmax_jacobian(tops(deviation)[:4000]).flatten(1).norm(dim=-1).median())
        for name, deviation in {"scaled": 1, "16": 4, "512": math.sqrt(512)}.items()
    }
    return weigh(
        f"{norms['scaled']:.2f} scaled at any width; unscaled {norms['16']:.2f} at d_k=16, "
        f"{norms['512']:.0e} at 512",
        holds=norms["512"] < norms["scaled"] / 10 and norms["16"] > norms["scaled"] / 2,
    )


@recomputes("03-08", "03-22", "03-51", "03-55")
def scale_prevents_saturation() -> Finding:
    """The largest of 10 weights on average, with 1/sqrt(d_k) and without it."""
    plain = {d: float(tops(math.sqrt(d)).amax(-1).mean()) for d in (64, 512)}
    scaled = [
        float(attention_weights(draw(4000, 1, d), draw(4000, 10, d, seed=1)).amax(-1).mean())
        for d in (64, 512)
    ]
    return weigh(
        f"unscaled {plain[64]:.2f} at d_k=64 and {plain[512]:.2f} at 512; scaled "
        f"{scaled[0]:.2f} and {scaled[1]:.2f}",
        holds=min(plain.values()) > 0.8 and max(scaled) < 0.4 and abs(scaled[0] - scaled[1]) < 0.02,
    )


@recomputes("03-15")
def jacobian_of_the_softmax() -> Finding:
    """s_i(delta_ij - s_j) against automatic differentiation; nearly zero where it is saturated."""
    scores = draw(5)
    softmax = partial(torch.softmax, dim=-1)
    theirs = torch.autograd.functional.jacobian(softmax, scores)
    off = largest(softmax_jacobian(softmax(scores)), theirs)
    gone = float(softmax_jacobian(softmax(40 * scores)).norm())
    return weigh(
        f"{off:.0e} from autograd's; its norm at scores 40 times as large {gone:.0e}",
        holds=off < 1e-12 and gone < 1e-3,
    )


@recomputes("03-18")
def unscaled_softmax_at_64_is_fine() -> Finding:
    """10 keys at d_k=64, and 512: is the largest weight about 0.45, the next 0.18, unscaled?"""
    unscaled, scaled, wide = tops(8), tops(1), tops(math.sqrt(512))
    above = float((unscaled.amax(-1) > 0.9).double().mean())
    return weigh(
        f"largest weight {unscaled.amax(-1).mean():.2f} on average ({above:.0%} of rows above "
        f"0.9), {wide.amax(-1).mean():.2f} at 512; scaled {scaled.amax(-1).mean():.2f}",
        holds=float(unscaled.amax(-1).mean()) < 0.6,
    )


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
    """12.3 at d_k=64, 35.2 at d_k=512: equal z-scores; pairs cut to 64 of their 512 features."""
    z = 12.3 / 8, 35.2 / math.sqrt(512)
    parts = draw(4000, 512, seed=20) * draw(4000, 512, seed=21)
    both = torch.stack([parts[:, :64].sum(-1), parts.sum(-1)])
    alike = float(torch.corrcoef(both)[0, 1])
    return weigh(
        f"{z[0]:.2f} and {z[1]:.2f} sigma; scores of one pair at both widths correlate by "
        f"{alike:.2f} only",
        holds=alike > 0.9,
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


@recomputes("03-21")
def gradient_of_the_top_weight() -> Finding:
    """0.9997*0.0003 = 0.0003, 800 times below 0.45 * 0.55; rows that are drawn."""
    picked, fine = 0.9997 * 0.0003, 0.45 * 0.55
    drawn = [tops(deviation).amax(-1) for deviation in (1, math.sqrt(64), math.sqrt(512))]
    spread = [float((top * (1 - top)).mean()) for top in drawn]
    return weigh(
        f"{picked:.4f} and {fine:.4f}, {fine / picked:.0f}x; drawn, p(1-p) falls from "
        f"{spread[0]:.3f} (scaled) to {spread[1]:.3f} (d=64) and {spread[2]:.3f} (d=512), "
        f"{spread[0] / spread[1]:.1f}x and {spread[0] / spread[2]:.0f}x",
        holds=round(picked, 4) == 0.0003 and abs(fine / picked / 800 - 1) < 0.05,
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
