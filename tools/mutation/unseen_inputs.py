"""Find an input on which two functions differ: other draws of the cases, and inputs near them."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.gradient import gradient_problem, observe_gradient
from course_utils.checking.guard import Outcome, call
from course_utils.checking.observe import observe, problem

SEEDS = (1001, 1002)
SECONDS = 2.0
Function = Callable[..., Any]
Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Input:
    """A valid input, and what the reference makes of it."""

    name: str
    case: Case
    seed: int
    want: Any


class Inputs:
    """Valid inputs of an exercise that its checker never sees.

    Attributes:
        exercise: The exercise.
        values: The inputs on which values are compared.
        slopes: The cases and gradients that are compared.
        lines: Which lines of which files the reference runs, on these and on the checker's own.
    """

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.lines: set[tuple[str, int]] = set()
        for seed, case in enumerate(exercise.cases):
            self._wanted(case, seed)
        self.values = [
            Input(name, case, seed, made.value)
            for name, case, seed in _unseen(exercise)
            if _is_number(made := self._wanted(case, seed))
        ]
        self.slopes: list[tuple[Case, Outcome]] = [
            (case, observe_gradient(exercise.reference, case, SEEDS[0], SECONDS)[0])
            for case in exercise.cases
            if case.gradient
        ]

    def difference(self, function: Function) -> str | None:
        """Say on which input a function differs from the reference, or None."""
        for one in self.values:
            seen = observe(self.exercise, function, one.case, one.seed, SECONDS)
            if problem(self.exercise, seen, one.want, one.case):
                return one.name
        for case, want in self.slopes:
            got, args = observe_gradient(function, case, SEEDS[0], SECONDS)
            if gradient_problem(self.exercise, case, got, want, args):
                return f"the gradient of {case.name}"
        return None

    def reaches(self, span: tuple[str, int, int]) -> bool:
        """Return whether the reference runs a statement on any of the inputs."""
        file, first, last = span
        traced = any(name == file for name, _ in self.lines)  # a kernel runs as a copy of itself
        return not traced or any((file, at) in self.lines for at in range(first, last + 1))

    def _wanted(self, case: Case, seed: int) -> Outcome:
        def note(frame: FrameType, event: str, arg: Any) -> Any:
            file = frame.f_code.co_filename
            if "course_utils" not in file or "checking" in file:
                return None
            self.lines.add((file, frame.f_lineno))
            return note

        def run() -> Any:
            before = sys.gettrace()
            sys.settrace(note)
            try:
                return case.use(self.exercise.reference)(*case.arguments(seed))
            finally:
                sys.settrace(before)

        return call(run, (), SECONDS)


def _is_number(made: Outcome) -> bool:
    parts = [part for part in tree_leaves(made.value) if isinstance(part, Tensor)]
    return made.kind == "returned" and all(bool(part.isfinite().any()) for part in parts)


def _unseen(exercise: Exercise) -> Iterator[tuple[str, Case, int]]:
    for case in exercise.cases:
        for seed in SEEDS:
            yield f"{case.name}, other numbers", case, seed
    for case in exercise.cases:
        for name, near in _near(case):
            yield f"{case.name}, {name}", near, SEEDS[0]


def _near(case: Case) -> Iterator[tuple[str, Case]]:
    """Yield the same case with its arguments changed a little; not all of them are valid."""
    for name, change in _WHOLE.items():
        yield name, _changed(case, change, None)
    for at, argument in enumerate(case.arguments(SEEDS[0])):
        if at and case.run is None:
            yield "the last arguments left out", _shortened(case, at)
        for name, change in _ALONE.items():
            if tree_map(change, argument) is not argument:
                yield f"argument {at + 1} {name}", _changed(case, change, at)


def _changed(case: Case, change: Change, only: int | None) -> Case:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        made = case.draw(generator)
        return tuple(
            tree_map(change, part) if only in (None, at) else part for at, part in enumerate(made)
        )

    return replace(case, make=make)


def _shortened(case: Case, length: int) -> Case:
    return replace(case, make=lambda generator: case.draw(generator)[:length])


def _floats(change: Callable[[Tensor], Tensor]) -> Change:
    return lambda x: change(x) if isinstance(x, Tensor) and x.is_floating_point() else x


def _tables(change: Callable[[Tensor], Tensor]) -> Change:
    return lambda x: change(x) if isinstance(x, Tensor) and x.dim() > 1 else x


def _numbers(change: Change) -> Change:
    return lambda x: change(x) if type(x) in (int, float) else x


_WHOLE: dict[str, Change] = {
    "numbers 8 times as large": _floats(lambda x: 8.0 * x),
    "float32": _floats(lambda x: x.float()),
    "float16": _floats(lambda x: x.half()),
}
_ALONE: dict[str, Change] = {
    "one row shorter": _tables(lambda x: x[..., :-1, :]),
    "one more": _numbers(lambda n: n + 1),
    "one less": _numbers(lambda n: n - 1),
    "doubled": _numbers(lambda n: 2 * n),
    "flipped": lambda x: not x if isinstance(x, bool) else x,
}
