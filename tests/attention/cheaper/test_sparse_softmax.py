import pytest
import torch
from torch import Tensor

from course_utils.attention import entmax, sparsemax
from tests.support import draw

ALPHAS = [1.1, 1.5, 2.0, 3.0]


def nearest_on_the_simplex(scores: Tensor) -> Tensor:
    """Try every set of entries that may stay above 0; keep the point that lies nearest."""
    best = None
    for chosen in range(1, 2 ** len(scores)):
        kept = torch.tensor([bool(chosen >> i & 1) for i in range(len(scores))])
        point = torch.where(kept, scores - (scores[kept].sum() - 1) / kept.sum(), 0.0)
        if (point >= 0).all():
            distance = (point - scores).square().sum()
            if best is None or distance < best[0]:
                best = distance, point
    return best[1]


@pytest.mark.parametrize("seed", range(10))
def test_sparsemax_is_the_nearest_point_of_the_simplex(seed) -> None:
    scores = draw(5, seed=seed) * (1 + seed / 2)
    torch.testing.assert_close(sparsemax(scores), nearest_on_the_simplex(scores))


def test_an_example_by_hand() -> None:
    scores = torch.tensor([1.2, 1.0, -1.0])
    torch.testing.assert_close(sparsemax(scores), torch.tensor([0.6, 0.4, 0.0]))
    assert (scores.softmax(-1) > 0).all()


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3, 7)])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_entmax_meets_the_conditions_of_its_maximum(shape, alpha) -> None:
    """At the optimum, (α-1)z - p^(α-1) is one threshold if p > 0, and not above it if p = 0."""
    scores = 2 * draw(*shape)
    weights = entmax(scores, alpha)
    torch.testing.assert_close(weights.sum(-1), torch.ones(shape[:-1], dtype=torch.float64))
    slope = (alpha - 1) * scores - weights.pow(alpha - 1)
    threshold = slope.where(weights > 0, -torch.inf).amax(-1, keepdim=True)
    inside = (slope - threshold).where(weights > 0, 0.0)
    assert inside.abs().max() < 1e-9
    assert (((alpha - 1) * scores <= threshold + 1e-9) | (weights > 0)).all()


def test_two_is_sparsemax_and_near_one_is_softmax() -> None:
    scores = draw(4, 9)
    torch.testing.assert_close(entmax(scores, 2.0), sparsemax(scores))
    torch.testing.assert_close(entmax(scores, 1.00001), scores.softmax(-1), rtol=1e-3, atol=1e-4)


def test_a_larger_alpha_leaves_fewer_above_zero() -> None:
    scores = draw(20, 30)
    left = [(entmax(scores, alpha) > 0).sum() for alpha in (1.01, 1.5, 2.0, 4.0)]
    assert left == sorted(left, reverse=True)
    assert left[0] > 2 * left[2]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradients_of_scores_and_alpha_are_the_slopes(alpha) -> None:
    scores = draw(3, 6).requires_grad_()
    learned = torch.full((3, 1), alpha, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(entmax, (scores, learned))
    assert torch.autograd.gradcheck(sparsemax, (scores,))


@pytest.mark.parametrize("weigh", [sparsemax, lambda scores: entmax(scores, 1.5)])
@pytest.mark.parametrize("shift", [0.0, 1e6, -1e6])
def test_hidden_scores_get_nothing_and_an_empty_row_is_zero(weigh, shift) -> None:
    scores = draw(3, 5)
    want = weigh(scores[:, :3])
    scores[:, 3:] = -torch.inf
    scores[2] = -torch.inf
    scores = (scores + shift).requires_grad_()
    weights = weigh(scores)
    torch.testing.assert_close(weights[:2, :3], want[:2], rtol=1e-6, atol=1e-6)
    assert not weights[:, 3:].any()
    assert not weights[2].any()
    (grad,) = torch.autograd.grad(weights.square().sum(), scores)
    assert grad.isfinite().all()
    assert not grad[2].any()


def test_alpha_learns_beside_hidden_scores() -> None:
    scores = draw(3, 5)
    scores[:, 4:] = -torch.inf
    alpha = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(entmax(scores, alpha).square().sum(), alpha)
    assert grad.isfinite()
    assert grad > 0  # sparser weights have the larger sum of squares


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_keeps_the_dtype(dtype) -> None:
    scores = draw(4, 9).to(dtype)
    for weigh in (sparsemax, lambda s: entmax(s, 1.5)):
        weights = weigh(scores)
        assert weights.dtype == dtype
        error = (weights.double() - weigh(scores.double())).abs().max()
        assert error < 4 * torch.finfo(dtype).eps


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: sparsemax(torch.tensor(1.0)), ValueError, "at least one axis, got a scalar"),
        (lambda: entmax(torch.tensor(1.0), 1.5), ValueError, "at least one axis, got a scalar"),
        (lambda: entmax(torch.ones(3), 1.0), ValueError, "alpha must be above 1, got 1.0"),
        (lambda: entmax(torch.ones(3), torch.tensor([2.0, 0.5, 2.0])), ValueError, "above 1, got"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
