import math

import pytest
import torch

from course_utils.attention import masked_softmax, soft_cap, stable_softmax
from tests.support import assert_same_function, draw

CAPS = [0.5, 3, 50.0]


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3, 4, 7), (2, 0, 3)])
@pytest.mark.parametrize("cap", CAPS)
def test_is_the_formula_at_every_score(shape, cap) -> None:
    scores = 20 * draw(*shape)
    got = soft_cap(scores, cap)
    want = [cap * math.tanh(score / cap) for score in scores.flatten().tolist()]
    torch.testing.assert_close(got.flatten(), torch.tensor(want, dtype=torch.float64))
    assert got.shape == scores.shape


def test_an_example_by_hand() -> None:
    scores = torch.tensor([-1e30, -50.0, 0.0, 1.0, 1e30])
    want = torch.tensor([-50.0, -38.0797, 0.0, 0.999867, 50.0])
    torch.testing.assert_close(soft_cap(scores, 50), want)


def test_no_finite_score_passes_the_cap_and_order_is_kept() -> None:
    scores = (100 * draw(400)).sort().values
    capped = soft_cap(scores, 30)
    assert capped.abs().max() <= 30
    assert (capped.diff() >= 0).all()
    assert (capped.abs() <= scores.abs()).all()


@pytest.mark.parametrize("cap", CAPS)
def test_slope_is_one_minus_the_square_of_the_tanh(cap) -> None:
    scores = (4 * draw(3, 5)).requires_grad_()
    assert torch.autograd.gradcheck(soft_cap, (scores, cap))
    (grad,) = torch.autograd.grad(soft_cap(scores, cap).sum(), scores)
    torch.testing.assert_close(grad, 1 - torch.tanh(scores.detach() / cap) ** 2)


def test_a_hidden_score_stays_hidden_without_a_slope() -> None:
    scores = draw(2, 4)
    scores[0, 1] = scores[1] = -torch.inf
    scores.requires_grad_()
    capped = soft_cap(scores, 50.0)
    assert torch.equal(capped == -torch.inf, scores == -torch.inf)
    (grad,) = torch.autograd.grad(capped[0, [0, 2, 3]].sum() + capped.exp().sum(), scores)
    assert grad.isfinite().all()
    assert not grad[scores == -torch.inf].any()


def test_before_the_mask_and_after_it_are_the_same_function() -> None:
    mask = draw(3, 5, seed=4) > 0
    mask[0] = False
    assert_same_function(
        lambda scores: masked_softmax(soft_cap(scores, 2.0), mask),
        lambda scores: stable_softmax(soft_cap(scores.masked_fill(~mask, -torch.inf), 2.0)),
        (draw(3, 5),),
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("cap", CAPS)
def test_low_precision_is_right_to_its_rounding(dtype, cap) -> None:
    scores = (40 * draw(500)).to(dtype)
    got = soft_cap(scores, cap)
    assert got.dtype == dtype
    exact = soft_cap(scores.double(), cap)
    torch.testing.assert_close(got.double(), exact, rtol=2 * torch.finfo(dtype).eps, atol=1e-6)
