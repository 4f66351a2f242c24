"""Exercise: positions pressed into the range that a model was trained on."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Function, Property
from course_utils.exercises.ch07_positions._interpolation_mistakes import MISCONCEPTIONS
from course_utils.positions import interpolate_positions


def _given(positions: Any, trained: int, target: int, dtype: str | None = None) -> Any:
    kind = None if dtype is None else getattr(torch, dtype)
    return lambda g: (torch.tensor(positions, dtype=kind), trained, target)


def _any_dtype(fn: Function, positions: Tensor, trained: int, target: int) -> Any:
    """Whole positions may become real of any precision, and stay whole where they stay."""
    got = fn(positions, trained, target)
    return got.double() if isinstance(got, Tensor) else got


def _long(name: str, positions: Any, trained: int, target: int) -> Case:
    make = _given(positions, trained, target)
    return Case(name, make, tolerance=1e-5, run=_any_dtype)


def _real(name: str, positions: Any, trained: int, target: int, gradient: str = "") -> Case:
    make = _given(positions, trained, target, "float64")
    return Case(name, make, tolerance=1e-5, gradient=gradient)


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    positions, trained, target = args
    if not positions.numel() or float(positions.max()) >= target or float(positions.min()) < 0:
        return None
    high = out.double().max().item()
    if high <= max(trained, target if target <= trained else 0):
        return None
    return f"A position became {high:.4g}, where {trained} positions were trained."


EXERCISE = Exercise(
    name="interpolate_positions",
    chapter=7,
    signature="interpolate_positions(positions, trained_length, target_length)",
    asks="Press positions into the trained range where the target is longer, else leave them.",
    reference=interpolate_positions,
    minutes=5,
    difficulty=1,
    importance=3,
    cases=(
        _long("8 positions, trained on 4", list(range(8)), 4, 8),
        _long("a target shorter than trained", list(range(6)), 8, 6),
        _long("a target as long as trained", list(range(5)), 5, 5),
        _long("a factor that is no whole number: 4 to 6", [0, 1, 2, 3, 4, 5], 4, 6),
        _long("positions in the middle, out of order", [70, 3, 95, 41], 32, 100),
        _long("positions of shape (2, 3)", [[0, 1, 2], [9, 5, 7]], 4, 10),
        _long("positions inside the trained range, a longer target", [0, 1, 2], 4, 16),
        _long("a single number", 7, 4, 16),
        _real("real positions", [0.5, 1.25, 6.75, 11.0], 5, 12, gradient="equal"),
        _real("real positions, a shorter target", [0.5, 1.25, 6.75], 12, 7, gradient="equal"),
        _real("negative positions", [-6.0, -1.5, 0.0, 7.5], 4, 9),
        _real("real positions of shape (1, 2, 2)", [[[0.0, 8.5], [3.25, 1.0]]], 3, 9),
        _long("thousands of positions", [0, 2047, 2048, 8191], 2048, 8192),
        Case(
            "float32",
            _given([0.0, 3.0, 17.5], 8, 20, "float32"),
            gradient="equal",
        ),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(Property("positions below the target come into the trained range", _outside),),
    hints=(
        "A model trained on 4 positions is to read 8. Where should position 7 come to lie?",
        "One factor for all positions: which two lengths make it, so that it is below 1?",
        "Whole positions need not stay whole: 1 becomes 0.5.",
        "Two branches: the target is longer, or it is not.",
    ),
)
