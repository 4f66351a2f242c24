"""Exercise: estimate the variance of q·k from samples."""

from typing import Any

import torch

from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.exercises.ch03_scaled_dot_product._variance_mistakes import MISCONCEPTIONS
from course_utils.measure.variance import dot_product_variance

_REPEATS = 120


def _arguments(d_k: int, num_samples: int) -> Function:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        return d_k, num_samples, g

    return make


def _twice(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> float:
    """Call with two generators of one seed: the difference must be nothing."""
    seed = g.initial_seed()
    one, other = (torch.Generator().manual_seed(seed) for _ in range(2))
    return abs(float(fn(d_k, num_samples, one)) - float(fn(d_k, num_samples, other)))


def _scatter(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> tuple[float, float]:
    """Call with many seeds: how much the estimates scatter tells how many samples they used."""
    estimates = torch.tensor(
        [
            float(fn(d_k, num_samples, torch.Generator().manual_seed(seed)))
            for seed in range(_REPEATS)
        ],
        dtype=torch.float64,
    )
    exact = float((estimates == d_k).double().mean())
    return float(estimates.std()), float(exact)


EXERCISE = Exercise(
    name="dot_product_variance",
    chapter=3,
    signature="dot_product_variance(d_k, num_samples, generator)",
    asks="Estimate Var(q·k) from num_samples pairs of unit normal vectors of width d_k.",
    reference=dot_product_variance,
    minutes=8,
    difficulty=1,
    importance=4,
    gradient="none",
    cases=(
        Case("width 64, 4000 samples", _arguments(64, 4000), tolerance=0.15, absolute=0.4),
        Case("width 3, 8000 samples", _arguments(3, 8000), tolerance=0.15, absolute=0.05),
        Case("width 1, 20000 samples", _arguments(1, 20000), tolerance=0.2, absolute=0.05),
        Case("width 1000, 500 samples", _arguments(1000, 500), tolerance=0.4, absolute=4.0),
        Case("the same seed twice", _arguments(5, 40), run=_twice, tolerance=0.0),
        Case(
            f"40 samples at a time, for {_REPEATS} seeds",
            _arguments(16, 40),
            run=_scatter,
            tolerance=0.33,
            absolute=0.01,
        ),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Draw first: what shape holds num_samples vectors of width d_k?",
        "`torch.randn` takes `generator=`. You need two independent draws, one for the queries "
        "and one for the keys.",
        "Multiply entry by entry and sum over the features: one number a pair. Its variance over "
        "the pairs is asked for, as Python's float.",
    ),
)
