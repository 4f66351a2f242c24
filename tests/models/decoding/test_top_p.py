"""Top-p, min-p and the repetition penalty, each in whole numbers and at its boundary."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from course_utils.models import (
    draw_tokens,
    min_p_filter,
    penalise_repetition,
    token_probabilities,
    top_p_filter,
)

WEIGHTS = [
    (3, 1, 1, 5), (1, 2, 7), (2, 1, 1, 6), (1, 1, 1, 1, 6), (4, 3, 2, 1), (1, 2, 3, 4), (1,) * 10,
    (6, 3, 1), (5, 3, 2), (1, 1, 3, 5), (2, 2, 2, 2, 2),
]  # fmt: skip
SHARES = [Fraction(tenth, 10) for tenth in range(1, 10)]
DTYPES = [torch.float32, torch.float64]


def logits_of(weights: tuple[int, ...], shift: float, dtype: torch.dtype) -> Tensor:
    return ((torch.tensor(weights).double() / sum(weights)).log() + shift).to(dtype)


def fewest(weights: tuple[int, ...], share: Fraction) -> set[int]:
    """Return the tokens that stay, in whole numbers: nothing is rounded."""
    held, kept = 0, set()
    for token in sorted(range(len(weights)), key=lambda token: -weights[token]):
        kept.add(token)
        held += weights[token]
        if Fraction(held, sum(weights)) >= share:
            break
    return kept


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shift", [0.0, 3.7])
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_top_p_keeps_what_whole_numbers_keep(weights, shift, dtype) -> None:
    for share in SHARES:
        logits = logits_of(weights, shift, dtype)
        got = top_p_filter(logits, float(share))
        kept = fewest(weights, share)
        assert set(got.isfinite().nonzero().flatten().tolist()) == kept
        assert torch.equal(got[[*kept]], logits[[*kept]])
        drawn_from = token_probabilities(logits, top_p=float(share)) > 0
        assert torch.equal(drawn_from, got.isfinite())


def test_top_p_1_keeps_what_is_as_good_as_impossible() -> None:
    logits = torch.tensor([0.0, -200.0, -torch.inf])
    assert torch.equal(top_p_filter(logits, 1.0), logits)


def test_what_stays_has_gradient_1_and_what_goes_0() -> None:
    logits = torch.tensor([0.5, 2.0, 1.0, -3.0], dtype=torch.float64, requires_grad=True)
    for filtered in (top_p_filter(logits, 0.8), min_p_filter(logits, 0.3)):
        kept = filtered.isfinite()
        (slope,) = torch.autograd.grad(filtered[kept].sum(), logits)
        assert torch.equal(slope, kept.double())
        assert kept.tolist() == [False, True, True, False]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_min_p_keeps_what_whole_numbers_keep(weights, dtype) -> None:
    for share in SHARES:
        for shift in (0.0, 3.7):
            got = min_p_filter(logits_of(weights, shift, dtype), float(share)).isfinite()
            assert got.tolist() == [Fraction(one, max(weights)) >= share for one in weights]


def test_min_p_counts_from_the_likeliest_of_each_row() -> None:
    chances = torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.06, 0.04]])
    kept = min_p_filter(chances.log(), 0.5).isfinite()
    assert kept.tolist() == [[True, True, False], [True, False, False]]
    assert min_p_filter(torch.zeros(0, 4), 0.5).shape == (0, 4)


def test_a_penalty_makes_what_occurred_less_likely_once() -> None:
    logits = torch.tensor([[2.0, -1.0, 0.5, -torch.inf], [1.0, 1.0, -2.0, 3.0]])
    tokens = torch.tensor([[0, 1, 0, 3], [2, 2, 2, 2]])
    got = penalise_repetition(logits, tokens, 1.25)
    want = torch.tensor([[1.6, -1.25, 0.5, -torch.inf], [1.0, 1.0, -2.5, 3.0]])
    torch.testing.assert_close(got, want)
    assert torch.equal(penalise_repetition(logits, tokens[:, :0], 1.25), logits)
    assert torch.equal(penalise_repetition(logits, tokens, 1.0), logits)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: top_p_filter(x, 0.0), ValueError, "top_p must be above 0 and at most 1, got 0"),
        (lambda x: top_p_filter(x, 1.1), ValueError, "top_p must be above 0 and at most 1, got 1"),
        (lambda x: top_p_filter(x, math.nan), ValueError, "top_p must be above 0 and at most 1"),
        (lambda x: top_p_filter(x[0, 0], 0.5), ValueError, "at least one axis, got a scalar"),
        (lambda x: top_p_filter(x[:, :0], 0.5), ValueError, "at least one token, got shape .2, 0."),
        (lambda x: min_p_filter(x, 0), ValueError, "min_p must be above 0 and at most 1, got 0"),
        (lambda x: min_p_filter(x[0, 0], 0.5), ValueError, "at least one axis, got a scalar"),
    ],
)
def test_what_cannot_be_is_refused(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call(torch.zeros(2, 4))


def test_filters_come_one_after_the_other() -> None:
    chances = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
    left = top_p_filter(min_p_filter(chances.log(), 0.4), 0.5)
    assert left.isfinite().tolist() == [[True, True, False, False]]
    assert draw_tokens(left, torch.Generator().manual_seed(0)).item() in (0, 1)
