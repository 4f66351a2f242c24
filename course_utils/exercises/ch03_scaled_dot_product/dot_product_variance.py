"""Exercise: estimate the variance of q·k from samples."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Function
from course_utils.exercises.ch03_scaled_dot_product._variance_mistakes import MISCONCEPTIONS
from course_utils.measure.variance import dot_product_variance


def _arguments(d_k: int, num_samples: int) -> Function:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        return d_k, num_samples, g

    return make


def _estimates(fn: Function, d_k: int, num_samples: int, count: int) -> Tensor:
    seeds = (torch.Generator().manual_seed(seed) for seed in range(count))
    return torch.tensor([float(fn(d_k, num_samples, g)) for g in seeds], dtype=torch.float64)


def _same_seed(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> float:
    one, other = (torch.Generator().manual_seed(g.initial_seed()) for _ in range(2))
    return abs(float(fn(d_k, num_samples, one)) - float(fn(d_k, num_samples, other)))


def _moves_on(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> bool:
    """A generator that was drawn from gives other numbers the next time."""
    return float(fn(d_k, num_samples, g)) != float(fn(d_k, num_samples, g))


def _average(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> float:
    return float(_estimates(fn, d_k, num_samples, 250).mean())


def _scatter(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> float:
    """How much the estimates scatter tells how many pairs they used, and of which kind."""
    return float(_estimates(fn, d_k, num_samples, 450).std())


def _whole_numbers(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> bool:
    estimates = _estimates(fn, d_k, num_samples, 20)
    return bool((estimates == estimates.round()).all())


EXERCISE = Exercise(
    name="dot_product_variance",
    chapter=3,
    signature="dot_product_variance(d_k, num_samples, generator)",
    asks="Estimate Var(q·k) from num_samples pairs of unit normal vectors of width d_k.",
    reference=dot_product_variance,
    minutes=8,
    difficulty=1,
    importance=4,
    cases=(
        Case("width 64, 4000 samples", _arguments(64, 4000), tolerance=0.15, absolute=0.4),
        Case("width 3, 4000 samples", _arguments(3, 4000), tolerance=0.2, absolute=0.05),
        Case("width 1, 4000 samples", _arguments(1, 4000), tolerance=0.35, absolute=0.05),
        Case("width 1000, 500 samples", _arguments(1000, 500), tolerance=0.4, absolute=4.0),
        Case(
            "two generators of one seed",
            _arguments(5, 40),
            run=_same_seed,
            tolerance=0.0,
            says="Two calls with generators of the same seed give different numbers. What else "
            "than the generator do they draw from?",
        ),
        Case(
            "one generator used twice",
            _arguments(5, 40),
            run=_moves_on,
            says="Two calls with the same generator, one after the other, give the same number: "
            "the generator was not drawn from, but rewound or passed over.",
        ),
        Case(
            "20 seeds, seen together",
            _arguments(7, 30),
            run=_whole_numbers,
            says="The estimates are whole numbers for every seed. Where do the digits go?",
        ),
        Case(
            "the mean over 250 seeds",
            _arguments(16, 60),
            run=_average,
            tolerance=0.08,
            says="Over many seeds the estimates do not average to the variance of q·k: each is off "
            "by the same share. What divides the sum, and what multiplies it?",
        ),
        Case(
            "how 450 estimates from 40 samples scatter",
            _arguments(16, 40),
            run=_scatter,
            tolerance=0.25,
            says="The estimates scatter less or more from seed to seed than `num_samples` "
            "independent pairs explain. How many pairs are drawn, and how?",
        ),
        Case(
            "how 450 estimates at width 1 scatter",
            _arguments(1, 100),
            run=_scatter,
            tolerance=0.33,
            says="At width 1 the estimates scatter otherwise than those from products of two unit "
            "normals. Is a product of two normals really drawn?",
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
