import math

import numpy as np
import pytest
import torch

from course_utils.measure import PowerLaw, fit_exponent, fit_power_law

X = [1.0, 2.0, 5.0, 11.0, 40.0]


@pytest.mark.parametrize(
    ("exponent", "prefactor"), [(1.0, 1.0), (2.0, 0.3), (-0.5, 7.0), (0.0, 2.0)]
)
def test_an_exact_law_is_found_without_error(exponent: float, prefactor: float) -> None:
    law = fit_power_law(X, [prefactor * x**exponent for x in X])
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.prefactor == pytest.approx(prefactor)
    assert law.error == pytest.approx(0.0, abs=1e-12)


def test_the_exponent_alone_is_that_of_the_law() -> None:
    y = [2.0, 7.0, 40.0, 130.0, 900.0]
    assert fit_exponent(X, y) == fit_power_law(X, y).exponent
    assert fit_exponent([512, 1024, 2048], [4 * n * n for n in (512, 1024, 2048)]) == pytest.approx(
        2
    )
    with pytest.raises(ValueError, match="at least 3 points, got 2"):
        fit_exponent([1.0, 2.0], [1.0, 2.0])


@pytest.mark.peer(
    "08", "`fit_power_law`, `fit_exponent`", "`numpy.polyfit`", "float64 1e-7",
    "exponent, factor, standard error",
)  # fmt: skip
def test_a_power_law_is_numpy_s_fit_of_the_logarithms() -> None:
    y = (3 * np.array(X) ** 1.5 * np.exp([0.1, -0.2, 0.05, 0.3, -0.1])).tolist()
    slope, covariance = np.polyfit(np.log(X), np.log(y), 1, cov=True)
    law = fit_power_law(X, y)
    got = (law.exponent, law.prefactor, law.error, fit_exponent(X, y))
    want = (slope[0], np.exp(slope[1]), covariance[0, 0] ** 0.5, slope[0])
    torch.testing.assert_close(got, tuple(map(float, want)))


def test_two_errors_cover_the_truth_in_about_nine_fits_of_ten() -> None:
    rng = np.random.default_rng(0)
    x = np.logspace(0, 3, 9)
    fits = [fit_power_law(x, 2 * x * np.exp(rng.normal(0, 0.1, 9))) for _ in range(400)]
    covered = np.mean([abs(fit.exponent - 1) < 2 * fit.error for fit in fits])
    assert 0.87 < covered < 0.96  # Student's t with 7 degrees of freedom: 0.914


def test_the_law_can_be_evaluated_and_read() -> None:
    law = PowerLaw(exponent=2.0, error=0.25, prefactor=3.0)
    assert law(4) == 48.0
    assert str(law) == "exponent 2.000 ± 0.250"


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2], "x and y need the same length, got 3 and 2"),
        ([1, 2], [1, 2], "at least 3 points, got 2"),
        ([1, 2, 0], [1, 2, 3], "x must be positive and finite, got 0.0"),
        ([1, 2, 3], [1, -2, 3], "y must be positive and finite, got -2.0"),
        ([1, 2, 3], [1, math.nan, 3], "y must be positive and finite, got nan"),
        ([1, 2, math.inf], [1, 2, 3], "x must be positive and finite, got inf"),
        ([4, 4, 4], [1, 2, 3], "at least two different values, got only 4.0"),
        ([[1, 2, 3]], [1, 2, 3], r"x must be one-dimensional, got shape \(1, 3\)"),
    ],
)
def test_input_that_has_no_fit_is_refused(x: list[float], y: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_power_law(x, y)
