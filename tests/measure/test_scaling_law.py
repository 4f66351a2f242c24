"""Laws that are known are found again, and their optimum is one."""

import math

import pytest
import torch

from course_utils.measure import ScalingLaw, compute_optimal, fit_scaling_law

HOFFMANN = ScalingLaw(406.4, 410.7, 0.34, 0.28, 1.69)
UNROUNDED = ScalingLaw(406.4, 410.7, 0.3392, 0.2849, 1.69)
REFIT = ScalingLaw(482.01, 2085.43, 0.3478, 0.3658, 1.8172)
LAWS = (HOFFMANN, UNROUNDED, REFIT, ScalingLaw(9.3, 25.6, 0.26, 0.27, 0.55))
RUNS = [(10.0**n, 10.0**d) for n in (6, 7, 8, 9) for d in (8, 9, 10, 11)]


def best(law: ScalingLaw, flops: float) -> tuple[float, float, float]:
    return compute_optimal(flops, law.A, law.B, law.alpha, law.beta, law.E)


@pytest.mark.parametrize(
    ("law", "flops", "billions", "trillions"),
    [
        (HOFFMANN, 5.76e23, 32, 3.0),
        (UNROUNDED, 5.76e23, 40, 2.4),
        (REFIT, 5.76e23, 72, 1.33),
        (HOFFMANN, 3.14e23, 24.5, 2.1),
        (UNROUNDED, 3.14e23, 30.6, 1.7),
        (REFIT, 3.14e23, 52.9, 0.99),
    ],
)
def test_three_published_laws_and_one_budget(law, flops, billions, trillions) -> None:
    size, tokens, _ = best(law, flops)
    assert size / 1e9 == pytest.approx(billions, rel=0.02)
    assert tokens / 1e12 == pytest.approx(trillions, rel=0.02)


@pytest.mark.parametrize("law", LAWS)
def test_nothing_near_the_optimum_is_better(law) -> None:
    size, tokens, loss = best(law, 1e21)
    assert 6 * size * tokens == pytest.approx(1e21)
    assert loss == pytest.approx(law(size, tokens))
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        assert law(size * factor, tokens / factor) > loss


@pytest.mark.thorough
@pytest.mark.parametrize("law", [HOFFMANN, REFIT])
def test_a_law_without_noise_is_found_again(law) -> None:
    found = fit_scaling_law(*zip(*RUNS, strict=True), [law(*run) for run in RUNS])
    for name in ("A", "B", "alpha", "beta", "E"):
        assert getattr(found, name) == pytest.approx(getattr(law, name), rel=1e-3)


def test_one_wild_run_moves_little() -> None:
    """Huber's loss counts it by its distance, not by the square."""
    g = torch.Generator().manual_seed(0)
    noise = [math.exp(0.001 * float(torch.randn((), generator=g))) for _ in RUNS]
    losses = [REFIT(*run) * error for run, error in zip(RUNS, noise, strict=True)]
    losses[5] *= 1.5
    found = fit_scaling_law(*zip(*RUNS, strict=True), losses)
    assert found.alpha == pytest.approx(REFIT.alpha, abs=0.02)
    assert found.beta == pytest.approx(REFIT.beta, abs=0.02)
    assert pytest.approx(REFIT.E, abs=0.05) == found.E


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (([1.0] * 6, [1, 2, 3, 4, 5, 6], [2.0] * 6), ValueError, "must differ in both N and D"),
        (([1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]), ValueError, "at least five runs"),
        (([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1.0]), ValueError, "got 5, 5 and 1"),
        ((None, [1] * 5, [1] * 5), TypeError, "num_parameters must be a sequence of numbers"),
    ],
)
def test_runs_that_cannot_be_fitted_are_named(columns, error, message) -> None:
    with pytest.raises(error, match=message):
        fit_scaling_law(*columns)


def test_a_law_needs_tokens_and_may_have_no_floor() -> None:
    assert compute_optimal(1e9, A=1.0, B=1.0, alpha=0.3, beta=0.3, E=0.0)[0] > 0
    with pytest.raises(ValueError, match="num_tokens must be a positive number"):
        HOFFMANN(1e9, 0.0)
