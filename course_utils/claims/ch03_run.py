"""Checks of the claims of chapter 03 that need code to run, and of its listings."""

import math
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import attention_weights, scaled_dot_product_attention, softmax_jacobian
from course_utils.claims._inputs import draw, draws, growth, largest
from course_utils.claims.ch03_softmax import tops
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, dot_product_variance


@recomputes("03-01", "03-35", "03-50", "03-52")
def attention_is_torchs() -> Finding:
    """softmax(QK^T/sqrt(d_k))V by bmm, for L=5 queries and S=7 keys, against torch's and ours."""
    query, key, value = draws((2, 5, 4), (2, 7, 4), (2, 7, 6))
    scores = torch.bmm(query, key.mT) / math.sqrt(4)
    by_hand = torch.bmm(scores.softmax(-1), value)
    off = max(
        largest(by_hand, F.scaled_dot_product_attention(query, key, value)),
        largest(by_hand, scaled_dot_product_attention(query, key, value)),
        largest(scores.softmax(-1), attention_weights(query, key)),
    )
    return weigh(
        f"scores {tuple(scores.shape[1:])}, output {tuple(by_hand.shape[1:])}; {off:.0e} "
        f"from torch's",
        holds=off < 1e-12 and scores.shape == (2, 5, 7),
    )


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


@recomputes("03-03")
def returned_weights_are_a_distribution() -> Finding:
    """Rows of weights before dropout and after it, as chapter 03 prints them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        weights = attention_weights(torch.randn(2, 10, 512), torch.randn(2, 10, 512))
        sums = F.dropout(weights, p=0.1, training=True).sum(-1)
    before = largest(weights.sum(-1), 1.0)
    return weigh(
        f"before dropout rows sum to 1 within {before:.0e}, after it to {sums.min():.2f} to "
        f"{sums.max():.2f}",
        holds=largest(sums, 1.0) < 1e-6,
        amended=before < 1e-6,
    )


@recomputes("03-04")
def attention_costs_n_squared_d() -> Finding:
    """O(n^2 d): the growth of 4 n^2 d, and where the projections' 8 n d^2 are as much."""
    d = 512
    power = growth(lambda n: attention_flops(1, 1, n, n, d, d), 128, 512, 2048)
    equal = attention_flops(1, 1, 2 * d, 2 * d, d, d) == 8 * (2 * d) * d**2
    return weigh(
        f"n to the power {power:.0f}; 8 n d^2 of projections are as much at n = 2d: {equal}",
        holds=abs(power - 2) < 1e-9 and equal,
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


@recomputes("03-30", "03-53")
def scaled_products_have_unit_variance() -> Finding:
    """Independent Q, K ~ N(0, 1): variance d_k, and 1 after the scale."""
    drawn = {
        d: dot_product_variance(d, 20_000, torch.Generator().manual_seed(0)) for d in (64, 512)
    }
    return weigh(
        ", ".join(f"d_k={d}: {v:.0f}, scaled {v / d:.2f}" for d, v in drawn.items()),
        holds=all(abs(v / d - 1) < 0.05 for d, v in drawn.items()),
    )


@recomputes("03-31")
def zero_mean_and_unit_variance_suffice() -> Finding:
    """Var(QK^T)=d_k with zero mean and unit variance, without independence."""
    x = draw(20_000, 64)
    free = float((x * draw(20_000, 64, seed=1)).sum(-1).var())
    same = float((x * x).sum(-1).var())
    return weigh(
        f"d_k=64: {free:.0f} for independent q and k, {same:.0f} for q=k",
        holds=abs(same / 64 - 1) < 0.05,
        amended=abs(free / 64 - 1) < 0.05,
    )


@recomputes("03-32", "03-48")
def printed_shapes() -> Finding:
    """Outputs (2, 10, 512) and weights (2, 10, 10); (1, 5, 48) and (1, 5, 5)."""
    told = []
    for x, value in ((draw(2, 10, 512), draw(2, 10, 512)), (draw(1, 5, 64), draw(1, 5, 48))):
        weights = attention_weights(x, x)
        told += [tuple((weights @ value).shape), tuple(weights.shape)]
    return weigh(
        ", ".join(map(str, told)), holds=told == [(2, 10, 512), (2, 10, 10), (1, 5, 48), (1, 5, 5)]
    )


@recomputes("03-36")
def first_listing_runs() -> Finding:
    """A listing that calls torch and F, whose imports are in the next listing."""
    listing = "def weights(q, k):\n    return F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)"
    alone = _calls(listing)
    return weigh(
        f"alone: {alone}; with the imports of the next listing: {_calls(listing, F=F, math=math)}",
        holds=alone == "runs",
        amended=_calls(listing, F=F, math=math) == "runs",
    )


def _calls(listing: str, **names: object) -> str:
    exec(listing, names)
    weights = names["weights"]
    try:
        weights(draw(2, 4), draw(3, 4))  # type: ignore[operator]
    except NameError as error:
        return f"NameError, {error}"
    return "runs"


@recomputes("03-49")
def dividing_by_a_tensor() -> Finding:
    """torch.sqrt(torch.tensor(d_k)) for math.sqrt(d_k)."""
    products = draw(3, 5)
    off = largest(products / torch.sqrt(torch.tensor(64)), products / math.sqrt(64))
    return weigh(f"it works: {off:.0e} apart", holds=off == 0)


@recomputes("03-56")
def listing_with_a_mask() -> Finding:
    """masked_fill where the mask is not True: right, and NaN on a row that may see nothing."""
    query, key, value = draws((3, 4), (5, 4), (5, 6))
    mask = draw(3, 5, seed=3) > 0
    out = _with_mask(query, key, value, mask)
    off = largest(out, F.scaled_dot_product_attention(query, key, value, mask))
    mask[0] = False
    empty = bool(_with_mask(query, key, value, mask)[0].isnan().all())
    return weigh(f"{off:.0e} from torch's; NaN on an empty row: {empty}", holds=off < 1e-12)


def _with_mask(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value
