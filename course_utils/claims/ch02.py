"""Checks of the claims of chapter 02."""

import math
from collections.abc import Callable
from itertools import combinations_with_replacement

import torch

from course_utils.attention import additive_score, concat_score, dot_score, general_score
from course_utils.claims._inputs import draw, draws, exact, growth, largest, refused, row
from course_utils.claims.figures import arithmetic, meant, said
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import additive_flops, attention_flops, count_flops
from course_utils.models import AdditiveScore, ConcatScore, GeneralScore

SCORES = exact([0.8, 2.1, 0.5])
STATES = exact([[1, 0.5, -0.3, 0.8], [0.3, 0.9, 0.6, -0.2], [-0.4, 0.2, 0.7, 0.5]])


def naive(n: int, m: int, d_a: int = 256, d_s: int = 512, d_h: int = 512) -> int:
    """Return the FLOPs of additive scores, each on its own, where a tanh counts as three."""
    return n * m * 2 * d_a * (d_s + d_h + 3)


def shared(n: int, m: int, d_a: int = 256, d: int = 512) -> int:
    """Return the FLOPs of the same scores where each state is projected once."""
    return 2 * d * d_a * (n + m) + n * m * 6 * d_a


ONCE, DOT = shared(512, 512), attention_flops(1, 1, 512, 512, 64, 64)
EQUAL = 3 * 2 * 512 * 512 * 256  # two projections and QK^T, at inner size 256
APART, TOGETHER = (additive_flops(50, 50, 512, 512, 256, once) for once in (False, True))
TERMS = [math.exp(0.8), math.exp(2.1), math.exp(0.5)]
# fmt: off
arithmetic("02-03", "{:,} FLOPs at widths 512, 512, 256",
    said(f"{naive(1, 1)}", 2 * 256 * 512 + 2 * 256 * 512 + 256 + 3 * 256 + 2 * 256))
arithmetic("02-04", "W1 s and W2 h once each: {:.1f} times less (a tanh as 3), {:.1f} (as 1)",
    said("1", naive(50, 50) / shared(50, 50)), meant("45.6", APART / TOGETHER))
arithmetic("02-06", "{0:.2f MB} ({0:.2f MiB}) and {1:.1f MB} ({1:.0f MiB})",
    said("2.5 MB", 50 * 50 * 256 * 4), said("~80 MB", 32 * 50 * 50 * 256 * 4))
arithmetic("02-07", "{:,}", said("262,400", 256 * 512 + 256 * 512 + 256))
arithmetic("02-10", "{:.1f} billion; half of it is {:.0f}",
    said("69", naive(512, 512) / 1e9), naive(512, 512) / 2e9)
arithmetic("02-11", "{:.0f}x naive; {:.0f}x ({:.3f} vs {:.3f GFLOP}) with W1 s and W2 h once, "
    "{:.0f}x vs QK^T; {:.2f}x ({:.0f} vs {:.0f MFLOP}) at equal size; per pair 6 d_a vs 2 d_k = "
    "{:.0f}x",
    said("~1000", naive(512, 512) / DOT), said("~1000", ONCE / DOT), *(ONCE / 1e9, DOT),
    said("~1000", 2 * ONCE / DOT), said("~1000", ONCE / EQUAL), *(ONCE / 1e6, EQUAL),
    (6 * 256) / (2 * 256))
arithmetic("02-27", "{:.0f kB}, {:.0f kB}, {:.0f kB}, {:.0f kB}",
    said("102 kB", 4 * 50 * 512), said("10 kB", 4 * 50 * 50), said("10 kB", 4 * 50 * 50),
    4 * 50 * 50 * 256)
arithmetic("02-28", "{0:.2f} ({0:.4f}); the rounded terms sum to {1:.2f}",
    said("12.05", sum(TERMS)), meant("12.05", sum(round(term, 2) for term in TERMS)))
# fmt: on


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


@recomputes("02-29")
def context_is_dominated_by_the_second_state() -> Finding:
    """Weights (0.185, 0.678, 0.137)."""
    weights = SCORES.softmax(0)
    sizes = (weights[:, None] * STATES).norm(dim=-1)
    return weigh(
        f"weights {row(weights)}, parts of length {row(sizes, 2)}",
        holds=row(weights) == "[0.185, 0.678, 0.137]" and int(sizes.argmax()) == 1,
    )


@recomputes("02-12")
def difference_grows_with_length() -> Finding:
    """Additive over scaled dot-product FLOPs, naive and with the projections shared, by length."""
    lengths = (50, 512, 32768, 2**22)
    wide, real = (
        [additive(n, n) / attention_flops(1, 1, n, n, 64, 64) for n in lengths]
        for additive in (naive, shared)
    )
    return weigh(
        f"naive {wide[0]:.0f} at every length; shared {', '.join(f'{r:.3g}' for r in real)}, "
        "towards 6 d_a/(4 d_k) = 6",
        holds=real[-1] > real[0] or max(wide) > 1.01 * min(wide),
    )


@recomputes("02-15")
def parameters_of_the_scores() -> Finding:
    """O(d_a(d_q+d_k)), O(d_q*d_k) and none."""

    def additive(d: int) -> int:
        return _parameters(AdditiveScore(d, d, d))

    def general(d: int) -> int:
        return _parameters(GeneralScore(d, d))

    squared = all(abs(growth(count, 16, 32, 64) - 2) < 0.05 for count in (additive, general))
    return weigh(
        f"width 64: additive {additive(64):,}, general {general(64):,}, dot 0",
        holds=squared and additive(64) == 64 * (64 + 64) + 64 and general(64) == 64 * 64,
    )


def _parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@recomputes("02-18")
def concat_with_a_bias_is_luong() -> Finding:
    """tanh(W[h; s] + b) against the additive score, without b and with it."""
    query, key, W_q, W_k, v, bias = draws((3, 4), (5, 4), (4, 6), (4, 6), (6,), (6,))
    additive = additive_score(query, key, W_q, W_k, v)
    plain = concat_score(query, key, torch.cat([W_q, W_k]), v)
    moved = torch.tanh((query @ W_q)[:, None] + key @ W_k + bias) @ v
    same = largest(plain, additive)
    return weigh(
        f"without a bias it is the additive score ({same:.0e} apart), with one it is not "
        f"({largest(moved, additive):.2f})",
        holds=largest(moved, additive) < 1e-12,
        amended=same < 1e-12,
    )


@recomputes("02-19")
def additive_has_more_parameters() -> Finding:
    """Width 64: dot, general, additive, and a concat with a bias."""
    general, additive = _parameters(GeneralScore(64, 64)), _parameters(AdditiveScore(64, 64, 64))
    concat = _parameters(ConcatScore(64, 64, 64)) + 64  # and the bias
    return weigh(
        f"dot 0, general {general:,}, additive {additive:,}, concat with a bias {concat:,}",
        holds=additive > max(general, concat),
        amended=additive > general,
    )


@recomputes("02-21")
def softmax_over_the_decoder() -> Finding:
    """alpha_ij = exp(e_ij)/sum_k exp(e_ik), i in the encoder: what a decoder step sums to."""
    encoder_first = draw(4, 3).softmax(dim=1)
    sums = encoder_first.sum(0)
    told = ", ".join(f"{float(total):.2f}" for total in sums)
    return weigh(
        f"the weights of a decoder step over the source sum to {told}",
        holds=largest(sums, 1.0) < 1e-12,
    )


@recomputes("02-23")
def additive_has_the_same_order() -> Finding:
    """O(n^2 d): the growth of both in n, and the constant of a pair."""
    in_n = growth(lambda n: shared(n, n, 64, 64), *[2**k for k in range(14, 20)])
    in_d = growth(lambda d: shared(2**20, 2**20, d, d), *[2**k for k in range(4, 10)])
    pair = (shared(2**20, 2**20, 64, 64) / 2**40) / (2 * 64)
    return weigh(
        f"n to the power {in_n:.2f}, d to the power {in_d:.0f}; a pair costs 6 d_a against "
        f"2 d, {pair:.0f}x; n*m*d_a numbers between",
        holds=abs(in_n - 2) < 0.01 and abs(in_d - 1) < 0.01,
    )


@recomputes("02-31")
def bahdanau_module() -> Finding:
    """v^T tanh(W_h h + W_s s): context (B, hidden), weights (B, S), projections once each."""
    state, states, W_s, W_h, v = draws((2, 1, 6), (2, 5, 4), (6, 7), (4, 7), (7,))
    scores = additive_score(state, states, W_s, W_h, v)[:, 0]
    loop = exact(
        [
            [v @ torch.tanh(h @ W_h + s[0] @ W_s) for h in own]
            for own, s in zip(states, state, strict=True)
        ]
    )
    weights = scores.softmax(-1)
    context = (weights[..., None] * states).sum(1)
    products = count_flops(lambda: additive_score(state, states, W_s, W_h, v))
    once = 2 * 2 * 7 * (6 + 5 * 4 + 5)
    return weigh(
        f"off a loop by {largest(scores, loop):.0e}; context {tuple(context.shape)}, weights "
        f"{tuple(weights.shape)}; {products} FLOPs of products against {once}; no mask argument",
        holds=largest(scores, loop) < 1e-12
        and (context.shape, weights.shape) == ((2, 4), (2, 5))
        and products <= once,
    )


@recomputes("02-32", "02-33")
def luong_scores() -> Finding:
    """Dot, general (h^T W s) and concat against loops; widths that differ, and an unknown name."""
    s, h, W, W_c, v = draws((3, 4), (5, 4), (4, 4), (8, 6), (6,))
    pairs: list[tuple[torch.Tensor, Callable[..., torch.Tensor]]] = [
        (dot_score(s, h), lambda a, b: a @ b),
        (general_score(s, h, W), lambda a, b: b @ (W.mT @ a)),
        (concat_score(s, h, W_c, v), lambda a, b: torch.tanh(torch.cat([a, b]) @ W_c) @ v),
    ]
    off = max(
        largest(ours, torch.tensor([[score(a, b) for b in h] for a in s]).double())
        for ours, score in pairs
    )
    return weigh(
        f"all three within {off:.0e} of loops; dot refuses widths 3 and 4: "
        f"{refused(dot_score, s[:, :3], h) == 'ValueError'}",
        holds=off < 1e-5,
    )
