"""Find the misconception that explains what an answer did on a case.

It does what the answer did there. A match can be chance where little can be told apart: where both
only failed, gave nothing but NaN, or were compared loosely. So a candidate is dropped if it goes
wrong on a case that the answer gets right, unless it also explains a second wrong case exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import kind_problem
from course_utils.checking.exercise import Case, Exercise, Function, Misconception
from course_utils.checking.gradient import observe_gradient
from course_utils.checking.guard import SECONDS, Outcome
from course_utils.checking.observe import Observation, behaves_alike, is_right, observe

# What the exercises' own functions do, once for all. Each entry holds what its key stands for, so
# that the ids stay theirs.
_KNOWN: dict[tuple[str, int, int], tuple[Any, Function, Any]] = {}


def once(what: str, subject: Any, fn: Function, make: Callable[[], Any]) -> Any:
    """Return what `make` gives for one of an exercise's own functions, computed the first time."""
    key = (what, id(subject), id(fn))
    if key not in _KNOWN:
        _KNOWN[key] = (subject, fn, make())
    return _KNOWN[key][2]


@dataclass(frozen=True)
class Candidate:
    """A version of a misconception that did what the answer did on one case."""

    mistake: Misconception
    agrees: int
    contradicted: bool


class Recogniser:
    """What an answer did on every case, and which misconception does the same."""

    def __init__(self, exercise: Exercise, attempt: Callable[[int], Observation]) -> None:
        self.exercise = exercise
        self.attempt = attempt

    @cached_property
    def answers(self) -> list[Observation]:
        """What the answer does on each case."""
        return [self.attempt(index) for index in range(len(self.exercise.cases))]

    @cached_property
    def right(self) -> list[bool]:
        """On which cases the answer is right."""
        return [self.is_right(index, seen) for index, seen in enumerate(self.answers)]

    def is_right(self, index: int, seen: Observation) -> bool:
        """Say whether nothing is wrong with what was seen on a case."""
        return is_right(seen, self.want(index), self.exercise.cases[index])

    def want(self, index: int) -> Any:
        """Return what is right on a case."""
        return self.run(self.exercise.reference, index).outcome.value

    def find(self, index: int, seen: Observation) -> Misconception | None:
        """Return the misconception that explains a case on which the answer is wrong."""
        if seen.outcome.kind in ("endless", "exited"):
            return None
        case = self.exercise.cases[index]
        found = [
            self._candidate(mistake, version, index)
            for mistake in self.exercise.misconceptions
            if mistake.sign is None
            for version in mistake.versions
            if behaves_alike(seen, self.run(version, index), case)
        ]
        clear = _says_much(seen, case)
        kept = [c for c in found if not c.contradicted or (clear and c.agrees > 1)]
        if seen.outcome.kind == "raised":
            kept = [c for c in kept if 2 * c.agrees >= self.right.count(False)]
        if kept:
            return max(kept, key=lambda c: (not c.contradicted, c.agrees)).mistake
        return self._fitting(index, seen)

    def run(self, fn: Function, index: int) -> Observation:
        """Run one of the exercise's own functions on a case, once for all."""
        case = self.exercise.cases[index]
        make = partial(observe, self.exercise, fn, case, index, SECONDS)
        seen: Observation = once("run", case, fn, make)
        return seen

    def slopes(self, fn: Function, index: int) -> Outcome:
        """Return the gradients of one of the exercise's own functions on a case, once for all."""
        case = self.exercise.cases[index]
        outcome: Outcome = once(
            "slopes", case, fn, lambda: observe_gradient(fn, case, index, SECONDS)[0]
        )
        return outcome

    def _candidate(self, mistake: Misconception, version: Function, index: int) -> Candidate:
        agrees, contradicted = 1, False
        for other, case in enumerate(self.exercise.cases):
            if other == index:
                continue
            own = self.run(version, other)
            if self.right[other]:
                contradicted = contradicted or not self.is_right(other, own)
            else:
                agrees += behaves_alike(self.answers[other], own, case)
        return Candidate(mistake, agrees, contradicted)

    def _fitting(self, index: int, seen: Observation) -> Misconception | None:
        value = seen.outcome.value
        if value is None or kind_problem(value, self.want(index)) or seen.changed_inputs:
            return None
        for mistake in self.exercise.misconceptions:
            if mistake.fits is not None and mistake.fits(seen.args, value):
                return mistake
        return None


def _says_much(seen: Observation, case: Case) -> bool:
    """Say whether equal results can hardly be chance: exact, and all numbers."""
    value = seen.outcome.value
    parts = value if isinstance(value, list | tuple) else [value]
    numbers = all(_is_finite(part) for part in parts)
    return seen.outcome.kind == "returned" and case.tolerance is None and numbers


def _is_finite(part: object) -> bool:
    if not isinstance(part, Tensor) or part.is_nested or part.layout != torch.strided:
        return False
    return part.device.type == "cpu" and not part.is_quantized and bool(part.isfinite().all())
