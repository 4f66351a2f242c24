"""Fit a power law, with the error of its exponent.

Source: ordinary least squares on logarithms; the standard error of the slope is the residual
standard deviation over the spread of log x (any text on linear regression).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_utils.validation import check_number


@dataclass(frozen=True)
class PowerLaw:
    """The law y = prefactor · x^exponent.

    Attributes:
        exponent: Slope of log y against log x.
        error: Standard error of the exponent; 0 for points exactly on a line.
        prefactor: Value of the law at x = 1.
    """

    exponent: float
    error: float
    prefactor: float

    def __call__(self, x: float) -> float:
        """Return the law's value at x."""
        check_number(x=x)
        return float(self.prefactor * x**self.exponent)

    def __str__(self) -> str:
        """Show the exponent with its error."""
        return f"exponent {self.exponent:.3f} ± {self.error:.3f}"


def fit_power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """Fit y = prefactor · x^exponent by least squares on log x and log y.

    Every point has the same weight on the log scale, which is right where the error of y is a
    fixed share of y, as it is for a variance estimated from a fixed number of samples.

    Args:
        x: Positive values, at least three of them, not all equal.
        y: As many positive values.

    Raises:
        ValueError: There are fewer than three points, or all x are equal.
    """
    xs, ys = _checked("x", x), _checked("y", y)
    if len(xs) != len(ys):
        raise ValueError(f"x and y need the same length, got {len(xs)} and {len(ys)}")
    if len(xs) < 3:
        raise ValueError(f"a fit with an error needs at least 3 points, got {len(xs)}")
    log_x, log_y = np.log(xs), np.log(ys)
    centred = log_x - log_x.mean()
    spread = float(centred @ centred)
    if np.ptp(xs) == 0:
        raise ValueError(f"x must hold at least two different values, got only {xs[0]}")
    exponent = float(centred @ log_y) / spread
    intercept = float(log_y.mean() - exponent * log_x.mean())
    residuals = log_y - (intercept + exponent * log_x)
    variance = float(residuals @ residuals) / (len(xs) - 2)
    return PowerLaw(exponent, math.sqrt(variance / spread), math.exp(intercept))


def fit_exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the exponent alone of the power law that fits best: 1 is linear, 2 quadratic.

    Args and errors are those of `fit_power_law`.
    """
    return fit_power_law(x, y).exponent


def _checked(name: str, values: Sequence[float]) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a sequence of numbers, got {values!r:.60}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    wrong = ~(np.isfinite(array) & (array > 0))
    if wrong.any():
        first = array[wrong][0]
        raise ValueError(f"{name} must be positive and finite, got {first}")
    return array
