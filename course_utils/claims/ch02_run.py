"""Checks of the claims of chapter 02 that need code to run."""

from collections.abc import Callable

import torch

from course_utils.attention import additive_score, concat_score, dot_score, general_score
from course_utils.claims._inputs import draw, draws, exact, growth, largest, refused
from course_utils.claims.ch02 import naive, shared
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, count_flops
from course_utils.models import AdditiveScore, ConcatScore, GeneralScore


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
    in_d = growth(lambda d: 6 * d * 100 * 100, *[2**k for k in range(4, 10)])
    return weigh(
        f"n to the power {in_n:.2f}, d to the power {in_d:.0f}; a pair costs 6 d_a against "
        f"2 d, {6 / 2:.0f}x; n*m*d_a numbers between",
        holds=abs(in_n - 2) < 0.01 and abs(in_d - 1) < 1e-9,
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
