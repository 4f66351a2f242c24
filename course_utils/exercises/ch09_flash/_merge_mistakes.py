"""What goes wrong when two partial results are merged: the weights."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._merge_lse_mistakes import LOGSUMEXP
from course_utils.exercises.ch09_flash._merge_row_mistakes import ROWS
from course_utils.exercises.ch09_flash._merging import build, joined, nonzero, safe, shares


def _even(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return torch.ones_like(lse_a), torch.ones_like(lse_b)


def _even_of_seen(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return (lse_a > -torch.inf).to(lse_a), (lse_b > -torch.inf).to(lse_b)


def _linear(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return safe(lse_a), safe(lse_b)


def _bare(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return lse_a.exp(), lse_b.exp()


def _swapped(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return shares(lse_a, lse_b)[::-1]


def _negative(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    low = safe(torch.minimum(lse_a, lse_b))
    return (low - lse_a).exp(), (low - lse_b).exp()


def _two(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    top = safe(torch.maximum(lse_a, lse_b))
    return torch.exp2(lse_a - top), torch.exp2(lse_b - top)


def _over_rows(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Take the softmax over the queries of each part."""
    return lse_a.softmax(-1), lse_b.softmax(-1)


def _one_top(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Measure every row against the largest of all rows."""
    top = torch.maximum(lse_a, lse_b).max()
    return (lse_a - top).exp(), (lse_b - top).exp()


def _against_own(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return (lse_a - safe(lse_a)).exp(), (lse_b - safe(lse_b)).exp()


def _against_first(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return (lse_a - safe(lse_a)).exp(), (lse_b - safe(lse_a)).exp()


def _against_smaller(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    low = torch.where(
        torch.minimum(lse_a, lse_b) == -torch.inf,
        torch.maximum(lse_a, lse_b),
        torch.minimum(lse_a, lse_b),
    )
    return (lse_a - safe(low)).exp(), (lse_b - safe(low)).exp()


def _total(lse_a: Tensor, lse_b: Tensor) -> Tensor:
    a, b = shares(lse_a, lse_b)
    return a + b


def _hard(lse_a: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    return (lse_a >= lse_b).to(lse_a), (lse_a < lse_b).to(lse_a)


def _as_if_normalised(out: Tensor, total: Tensor) -> Tensor:
    return out


def _axis_of_width(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Any:
    """Let a weight a row meet the axis of the width."""
    a, b = shares(lse_a, lse_b)
    if out_a.shape[-1] != lse_a.shape[-1]:
        return build()(out_a, lse_a, out_b, lse_b)
    weights = [(x / nonzero(a + b)).unsqueeze(-2) for x in (a, b)]
    return weights[0] * out_a + weights[1] * out_b, joined(lse_a, lse_b)


def _bare_sum(lse_a: Tensor, lse_b: Tensor) -> Tensor:
    return (lse_a.exp() + lse_b.exp()).log()


WEIGHTS = (
    Misconception(
        "the two averaged",
        build(share=_even),
        "Both parts count alike. A part that saw three keys of low scores and one that saw a key "
        "of a high score: which number says how much each of them saw?",
        also=(
            build(share=_even_of_seen),
            build(share=_even, divide=lambda out, total: out / 2),
            build(share=_against_own),
        ),
    ),
    Misconception(
        "the two added",
        build(share=_even, divide=_as_if_normalised),
        "The two outputs were added as they are. Each is an average already, whose weights sum to "
        "1: what do the weights of the sum add up to?",
        also=(build(share=_even_of_seen, divide=_as_if_normalised),),
    ),
    Misconception(
        "weighted by lse itself",
        build(share=_linear),
        "The logsumexps were taken for weights as they are. They are logarithms, and may be "
        "negative: what of them can be added?",
        also=(
            build(share=_linear, divide=_as_if_normalised),
            build(share=lambda a, b: (a, b), clean=lambda out, lse: out),
        ),
    ),
    Misconception(
        "exponentials without a maximum",
        build(share=_bare),
        "exp(lse) was taken as it is: near 2,000 it is infinite, near -2,000 it is 0. Only the "
        "ratio of the two matters: what may be subtracted from both?",
        also=(
            build(share=_bare, lse=_bare_sum),
            build(lse=_bare_sum),
            build(share=_one_top),
            build(share=_against_first),
            build(share=_against_smaller),
        ),
    ),
    Misconception(
        "the weights swapped",
        build(share=_swapped),
        "Part a got the weight of part b. Which of the two should count more where lse_a is the "
        "larger?",
        also=(build(share=_negative),),
    ),
    Misconception(
        "not divided by the total",
        build(divide=_as_if_normalised),
        "The weighted sum was not divided by the sum of its weights. For an average the two "
        "shares must add up to 1.",
        also=(
            build(share=_bare, divide=_as_if_normalised),
            build(total=lambda a, b: torch.maximum(a, b)),
            build(divide=lambda out, total: out / nonzero(total).square()),
        ),
    ),
    Misconception(
        "powers of another base",
        build(share=_two),
        "Powers of 2 were taken of logarithms to base e. They belong together only if the scores "
        "were multiplied by log₂ e before.",
        also=(
            build(share=_two, lse=torch.logaddexp2),
            build(lse=torch.logaddexp2),
            build(lse=lambda a, b: joined(a, b) / math.log(2)),
            build(lse=lambda a, b: safe(torch.maximum(a, b)) + _total(a, b).log2()),
            build(lse=lambda a, b: safe(torch.maximum(a, b)) + _total(a, b).log10()),
            build(lse=lambda a, b: safe(torch.maximum(a, b)) + _total(a, b).log1p()),
        ),
    ),
    Misconception(
        "the part with the larger lse alone",
        build(share=_hard),
        "Only the part with the larger logsumexp is left. The other saw keys too: which share of "
        "all exponentials is its own?",
        also=(build(share=_hard, lse=torch.maximum),),
    ),
    Misconception(
        "weights over the queries",
        build(share=_over_rows),
        "The weights were normalised over the queries of a part. Between which two numbers does "
        "each query share its weight?",
        also=(
            build(
                share=lambda a, b: (a.softmax(-1), b.softmax(-1)),
                divide=_as_if_normalised,
            ),
        ),
    ),
    Misconception(
        "the weights along the width",
        _axis_of_width,
        "The weights, one a query, met the axis of the values' width instead. Which axis of out "
        "belongs to the queries, and what brings the weights there?",
    ),
)
MISCONCEPTIONS = (*WEIGHTS, *LOGSUMEXP, *ROWS)
