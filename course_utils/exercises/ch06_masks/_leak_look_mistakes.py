"""What goes wrong in a leak test: where it looks, and how it compares."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._leak_tables import SIZES
from course_utils.exercises.ch06_masks._leak_tests import (
    build,
    by_more_than,
    one,
)


def _only_large_leaks_found(args: tuple[Any, ...], found: Any) -> bool:
    """Say whether a table of leaks, smaller and smaller, was found down to some size only."""
    if not isinstance(found, Tensor) or found.shape != (len(SIZES),):
        return False
    flags = [bool(flag) for flag in found]
    return not flags[-1] and flags == sorted(flags, reverse=True)


def _last(found: Iterable[bool]) -> bool:
    return [False, *found][-1]


def _signed(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).max() > 1e-6)


LOOKS = (
    Misconception(
        "the changed position itself is looked at",
        build(change=one, look=lambda out, start: out[:, : start + 1]),
        "The output at the changed position was compared too. A causal output may depend on its "
        "own position: up to where do outputs have no excuse?",
        also=(
            build(look=lambda out, start: out[:, : start + 1]),
            build(change=one, look=lambda out, start: out[:, : start + 1], starts=range),
        ),
    ),
    Misconception(
        "all outputs are looked at",
        build(change=one, look=lambda out, start: out),
        "The whole output was compared, with the positions that may change. Which part of it has "
        "to stay the same?",
        also=(
            build(look=lambda out, start: out),
            build(change=one, look=lambda out, start: out, starts=range),
        ),
    ),
    Misconception(
        "only the first output is looked at",
        build(look=lambda out, start: out[:, :1]),
        "Only the output at position 0 was compared, so a leak that starts later is not found. "
        "Which outputs stand before the changed position?",
    ),
    Misconception(
        "only the neighbour is looked at",
        build(change=one, look=lambda out, start: out[:, start - 1]),
        "Only the output just before the changed position was compared. A leak may reach further "
        "back. Which outputs stand before the changed position?",
    ),
    Misconception(
        "the neighbour is left out",
        build(change=one, look=lambda out, start: out[:, : start - 1]),
        "The output just before the changed position was not compared, and that is where a mask "
        "that is off by one leaks. Where does the slice end?",
        also=(build(look=lambda out, start: out[:, : max(start - 1, 1)]),),
    ),
    Misconception(
        "one column of the output",
        build(look=lambda out, start: out[:, :start, 0]),
        "One feature of the output was compared, so a leak into another is not found. Which "
        "entries of an output may not move?",
        also=(build(look=lambda out, start: out[:, :start, -1]),),
    ),
    Misconception(
        "sums compared instead of entries",
        build(differs=lambda a, b: abs(float(a.sum() - b.sum())) > 1e-6),
        "What is added to one entry and taken from another leaves the sum as it was. What has to "
        "be compared?",
    ),
    Misconception(
        "sign of the difference kept",
        build(differs=_signed),
        "Only outputs that moved in one direction were noticed. What makes a size of a difference?",
        also=(
            build(change=one, differs=lambda a, b: bool((b - a).max() > 1e-6)),
            build(change=one, differs=_signed),
            build(differs=lambda a, b: bool((b - a > 1e-6).any())),
        ),
    ),
    Misconception(
        "small leaks forgiven",
        build(differs=by_more_than(1e-3)),
        "A small leak is missed: what you change is small, or what you ignore is large. A causal "
        "attention gives the same outputs for the same past, to the last digit. How small an "
        "effect has to count?",
        also=(
            *(build(differs=by_more_than(tolerance)) for tolerance in (0.1, 1e-2, 1e-4)),
            build(change=one, differs=by_more_than(0.1)),
        ),
        fits=_only_large_leaks_found,
    ),
    Misconception(
        "`all` for `any`",
        build(decide=all),
        "A leak was reported only where every comparison found one. How many outputs have to "
        "move before an attention leaks?",
        also=(
            build(change=one, decide=all),
            build(differs=lambda a, b: bool((a != b).all())),
            build(differs=lambda a, b: bool((a > b).all())),
            build(change=one, differs=lambda a, b: bool((a != b).all())),
        ),
    ),
    Misconception(
        "only the last comparison counts",
        build(decide=_last),
        "Each round overwrites the verdict of the round before, so a leak found early is "
        "forgotten. What should happen as soon as one leak is found?",
        also=(build(change=one, decide=_last),),
    ),
    Misconception(
        "answer inverted",
        build(decide=lambda found: not any(found)),
        "A causal attention was said to leak, and a leaking one not to. What does True mean in "
        "`leaks_future`?",
        also=(
            build(differs=lambda a, b: torch.equal(a, b)),
            build(change=one, differs=lambda a, b: torch.equal(a, b)),
        ),
    ),
)
