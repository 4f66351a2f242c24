"""Checks of the claims of chapter 03."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import attention_weights, scaled_dot_product_attention
from course_utils.claims._inputs import draw, draws, exact, growth, largest, row
from course_utils.claims.figures import arithmetic, meant, said
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, dot_product_variance


def moment(power: int) -> float:
    """Return the mean of a power of a standard normal number, by integrating its density."""
    z = torch.linspace(-12, 12, 4001, dtype=torch.float64)
    return float(torch.trapezoid(z**power * (-(z**2) / 2).exp(), z)) / math.sqrt(2 * math.pi)


LENGTHS = (128, 256, 512, 1024, 2048, 4096)
SCORES = attention_flops(1, 1, 4096, 4096, 512, 512)
VARIANCE = moment(2) ** 2  # of a product of two standard normal numbers
# fmt: off
arithmetic("03-05 03-34", "{:.2g}, {:.2g}, {:.2g}, {:.2g}, {:.2g}, {:.2g} MiB a head and "
    "sequence: O(n^2), and B*h*n^2 for the layer",
    *map(said, ("0.06", "0.25", "1", "4", "16", "64"), (4 * n**2 / 2**20 for n in LENGTHS)))
arithmetic("03-06", "{:.1f GFLOP}, and {:.1f} of projections (n^2 d is {:.1f}, as n=8d)",
    SCORES, 8 * 4096 * 512**2 / 1e9, 4096**2 * 512 / 1e9, said("1", SCORES / (4096**2 * 512)),
    meant("4", SCORES / (4096**2 * 512)))
arithmetic("03-07", "one head {:.0f MiB}; a batch of 2 with 8 heads {:.0f GiB} a layer, width 512",
    4096**2 * 4, said("64 MB", 2 * 8 * 4096**2 * 4))
arithmetic("03-12 03-46 03-47", "variance {:.0f}, deviation {:.0f}, three of them {:.0f}; {:.1f} "
    "at 512",
    said("64", 64 * VARIANCE), said("8", math.sqrt(64 * VARIANCE)),
    said("24", 3 * math.sqrt(64 * VARIANCE)), said("22.6", math.sqrt(512 * VARIANCE)))
arithmetic("03-13", "softmax([10, 0]) = [{:.6f}, {:.7f}]; the small entry is {:.1f}x smaller",
    meant("0.9999", 1 / (1 + math.exp(-10))), said("0.0001", 1 / (1 + math.exp(10))),
    0.0001 * (1 + math.exp(10)))
arithmetic("03-14", "softmax([20, 0]) = [{:.1f}, {:.3g}]",
    said("1.0", 1 / (1 + math.exp(-20))), said("2e-9", 1 / (1 + math.exp(20))))
arithmetic("03-24", "{0:,}: {0:.1f MFLOP}, {1:.1f} with 6mn",
    said("67,108,864", attention_flops(1, 1, 512, 512, 64, 64)),
    (2 * 512 * 512 * (64 + 64) + 6 * 512 * 512) / 1e6)
arithmetic("03-33", "{:,} to {:,}",
    said("8,388,608", 128**2 * 512), said("8,589,934,592", 4096**2 * 512))
arithmetic("03-38", "{:.4f}", said("0.248", 0.45 * 0.55))
arithmetic("03-39", "{:.2f}, {:.3f}", said("1.56", 35.2 / 22.6), said("0.236", 0.38 * 0.62))
arithmetic("03-44", "{:.0f} and {:.1f} times",
    said("4", math.sqrt(64 / 4)), said("11.3", math.sqrt(512 / 4)))
# fmt: on


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


@recomputes("03-10")
def score_has_no_parameters() -> Finding:
    """The score of projected queries and keys is x W_Q W_K^T y."""
    x, y, W_q, W_k = draws((3, 512), (5, 512), (512, 64), (512, 64))
    off = largest((x @ W_q) @ (y @ W_k).mT, x @ (W_q @ W_k.mT) @ y.mT)
    count = W_q.numel() + W_k.numel()
    return weigh(
        f"the score none, its projections {count:,} (512->64); as a general score of rank 64 it is "
        f"{off:.0e} off",
        holds=count == 0,
        amended=off < 1e-8,
    )


@recomputes("03-11")
def variance_of_a_dot_product_is_its_width() -> Finding:
    """d_k=64, drawn; then q=k, and components that are all equal, by the moments."""
    drawn = dot_product_variance(64, 200_000, torch.Generator().manual_seed(0))
    same_mean, same = 64 * moment(2), 64 * (moment(4) - moment(2) ** 2)
    equal = 64**2 * VARIANCE
    return weigh(
        f"variance {drawn:.1f} at d_k=64; q=k gives mean {same_mean:.0f} and variance {same:.0f}; "
        f"equal components 64^2 = {equal:.0f}",
        holds=abs(drawn / 64 - 1) < 0.02,
    )


@recomputes("03-40", "03-41", "03-42", "03-43")
def worked_example() -> Finding:
    """d_k=4: [1.33, 0.37, -0.24], by 2 [0.665, 0.185, -0.120], 48.2% on the first; the output."""
    key = exact([0.8, 0.2, -0.1, 0.5, 0.3, 0.7, 0.4, -0.2, -0.5, 0.1, 0.9, 0.6]).view(3, 4)
    value = exact(
        [0.5, 0.8, -0.2, 0.6, 0.3, 0.2, -0.4, 0.7, 0.1, 0.9, -0.3, 0.5, 0.4, -0.6, 0.2]
    ).view(3, 5)
    scores = key @ exact([1, 0.5, -0.3, 0.8])
    weights = (scores / 2).softmax(0)
    out = weights @ value
    printed = exact([0.235, 0.377, 0.201, 0.187, 0.457])
    off = (out - printed).abs() > 5e-4
    return weigh(
        f"{row(scores, 2)}; {row(scores / 2)}; {weights[0]:.1%}, {scores.softmax(0)[0]:.1%} "
        f"unscaled; {row(out, 4)}, {int(off.sum())} of the five printed off in the third digit",
        holds=row(scores / 2) == "[0.665, 0.185, -0.120]"
        and f"{weights[0]:.1%}" == "48.2%"
        and largest(out, printed) < 1e-3,
    )


@recomputes("03-45")
def sizes_of_10_queries_and_20_keys() -> Finding:
    """d_k=64, d_v=128: output 10x128, weights 10x20, 25,600 operations for QK^T."""
    query, key, value = draws((10, 64), (20, 64), (20, 128))
    weights = (query @ key.mT).softmax(-1)
    count = 2 * 10 * 20 * 64
    return weigh(
        f"weights {tuple(weights.shape)}, output {tuple((weights @ value).shape)}, {count:,}",
        holds=count == 25_600 and (weights @ value).shape == (10, 128),
    )
