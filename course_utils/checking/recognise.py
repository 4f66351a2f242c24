"""Find the mistake, or the two mistakes, that explain what an answer did on a case.

A mistake explains an answer if it does what the answer did there. A match can be chance where
little can be told apart: where both only failed, gave nothing but NaN, or were compared loosely. So
a candidate is dropped if it fails on a case that the answer gets right, unless it also
explains a second wrong case exactly. Where no single mistake explains an answer, pairs are tried.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from course_utils.checking.compare import equal, is_dense, is_number, kind_problem
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.gradient import observe_gradient
from course_utils.checking.guard import SECONDS, Outcome, run_within
from course_utils.checking.mistakes import Mistake
from course_utils.checking.observe import Observation, behaves_alike, is_right, observe
from course_utils.checking.recipe import Function

# So many pairs are tried, about a second's worth: a count, so that a slow machine names the same.
PAIRS = 1500

# What the exercises' own functions do, computed once. Each entry holds what its key stands for, so
# that the ids stay theirs.
_KNOWN: dict[tuple[str, int, int], tuple[Any, Any, Any]] = {}


def once(what: str, subject: Any, fn: Any, make: Callable[[], Any]) -> Any:
    """Return what `make` gives for one of an exercise's own functions, computed the first time."""
    key = (what, id(subject), id(fn))
    if key not in _KNOWN:
        _KNOWN[key] = (subject, fn, make())
    return _KNOWN[key][2]


@dataclass(frozen=True)
class Candidate:
    """A version of a mistake that did what the answer did on one case."""

    mistake: Mistake
    agrees: int
    contradicted: bool


class Recogniser:
    """Results of an answer on every case, and which mistakes do the same."""

    def __init__(self, exercise: Exercise, attempt: Callable[[int], Observation]) -> None:
        self.exercise = exercise
        self._attempt = attempt
        self._seen: dict[int, Observation] = {}
        self._right: dict[int, bool] = {}

    def answer(self, index: int) -> Observation:
        """Return what the answer does on a case; it is called once."""
        if index not in self._seen:
            self._seen[index] = self._attempt(index)
        return self._seen[index]

    @cached_property
    def right(self) -> list[bool]:
        """On which cases the answer is right."""
        return [self.right_on(index) for index in range(len(self.exercise.cases))]

    def right_on(self, index: int) -> bool:
        """Return whether the answer is right on a case."""
        if index not in self._right:
            self._right[index] = self.is_right(index, self.answer(index))
        return self._right[index]

    def is_right(self, index: int, seen: Observation) -> bool:
        """Return whether nothing is wrong with what was seen on a case."""
        return is_right(seen, self.want(index), self.exercise.cases[index])

    def want(self, index: int) -> Any:
        """Return the right value on a case."""
        return self.run(self.exercise.reference, index).outcome.value

    def find(self, index: int) -> Mistake | None:
        """Return the mistake that explains a case on which the answer is wrong."""
        seen, case = self.answer(index), self.exercise.cases[index]
        if seen.outcome.kind in ("endless", "exited"):
            return None
        clear = _is_conclusive(seen, case)
        alike = [
            (mistake, version)
            for mistake, version in self._versions()
            if behaves_alike(seen, self.run(version, index), case)
        ]
        names = {mistake.name for mistake, _ in alike}
        if clear and len(names) == 1 and any(self._agrees_again(fn, index) for _, fn in alike):
            return alike[0][0]
        found = [self._candidate(mistake, version, index, clear) for mistake, version in alike]
        kept = [c for c in found if not c.contradicted or (clear and c.agrees > 1)]
        if seen.outcome.kind == "raised":
            kept = [c for c in kept if 2 * c.agrees >= self.right.count(False)]
        if kept:
            return max(kept, key=lambda c: (not c.contradicted, c.agrees)).mistake
        return self._matching(index, seen)

    def pair(self, index: int) -> tuple[Mistake, ...]:
        """Return the two mistakes that together explain a case on which the answer is wrong.

        Where several pairs explain it equally well, return the one mistake that they share, if they
        do; nothing otherwise.
        """
        if self.answer(index).outcome.kind != "returned":
            return ()
        lines = list(self._showing(index))
        alike: list[tuple[_Line, _Line]] = []
        run_within(SECONDS, lambda: self._try_pairs(lines, index, alike))
        found: dict[frozenset[str], int] = {}
        for one, other in alike:
            names = frozenset((one.name, other.name))
            explained = self._explained(self.exercise.recipe.function(one.text, other.text), index)
            found[names] = max(explained, found.get(names, 0))
        # A few whole numbers easily agree by chance.
        value = self.answer(index).outcome.value
        least = 1 if _has_fractions(value) else min(2, self.right.count(False))
        best = [names for names, n in found.items() if n == max(found.values()) >= least]
        shared = frozenset.intersection(*best) if best else frozenset()
        return tuple(one for one in self.exercise.mistakes if one.name in shared)

    def run(self, fn: Function, index: int) -> Observation:
        """Run one of the exercise's own functions on a case, cached."""
        case = self.exercise.cases[index]
        make = partial(observe, self.exercise, fn, case, index, SECONDS, watch=False)
        return once("run", case, fn, make)

    def slopes(self, fn: Function, index: int) -> Outcome:
        """Return the gradients of one of the exercise's own functions on a case, cached."""
        case = self.exercise.cases[index]
        return once("slopes", case, fn, lambda: observe_gradient(fn, case, index, SECONDS)[0])

    def _versions(self) -> Iterator[tuple[Mistake, Function]]:
        for mistake in self.exercise.mistakes:
            if mistake.detects is None:
                yield from ((mistake, version) for version in self.exercise.versions(mistake))

    def _agrees_again(self, version: Function, index: int) -> bool:
        """Return whether a version does what the answer does on a second case that is wrong."""
        return any(
            not self.right_on(other)
            and behaves_alike(self.answer(other), self.run(version, other), case)
            for other, case in enumerate(self.exercise.cases)
            if other != index
        )

    def _candidate(self, mistake: Mistake, version: Function, index: int, clear: bool) -> Candidate:
        agrees, contradicted = 1, False
        for other, case in enumerate(self.exercise.cases):
            if contradicted and not clear:
                break  # it is dropped either way
            if other == index:
                continue
            own = self.run(version, other)
            if self.right[other]:
                contradicted = contradicted or not self.is_right(other, own)
            else:
                agrees += behaves_alike(self.answer(other), own, case)
        return Candidate(mistake, agrees, contradicted)

    def _matching(self, index: int, seen: Observation) -> Mistake | None:
        value = seen.outcome.value
        if value is None or kind_problem(value, self.want(index)) or seen.changed_inputs:
            return None
        for mistake in self.exercise.mistakes:
            if mistake.matches is not None and _holds(mistake.matches, seen.args, value):
                return mistake
        return None

    def _try_pairs(
        self, lines: list["_Line"], index: int, alike: list[tuple["_Line", "_Line"]]
    ) -> None:
        """Note the pairs that give on a case what the answer gave; this may be stopped halfway."""
        case, got = self.exercise.cases[index], self.answer(index).outcome.value
        recipe, every = self.exercise.recipe, self.exercise.recipe_lines
        made, switches = once("board", self.exercise, recipe, lambda: recipe.board(every))
        known: dict[tuple[int, int], Any] = once("pairs", self.exercise, case, dict)
        used, args = case.use(made), case.arguments(index)
        for one, other in itertools.islice(_by_rank(lines), PAIRS):
            key = one.number, other.number
            if key not in known:
                switches[:] = [False] * len(switches)
                switches[one.number] = switches[other.number] = True
                known[key] = _value(used, args)
            if equal(got, known[key], case.tolerance, case.absolute):
                alike.append((one, other))

    def _showing(self, index: int) -> Iterator["_Line"]:
        """Yield the lines that make a difference on a case and return the right kind of value.

        The right kind is the kind that the answer returned: a pair in which one of the two spoils
        the shape seldom gives it back.
        """
        recipe, want = self.exercise.recipe, self.want(index)
        usual = kind_problem(self.answer(index).outcome.value, want) is None
        numbers = {text: number for number, text in enumerate(self.exercise.recipe_lines)}
        for mistake in self.exercise.mistakes:
            for rank, text in enumerate(mistake.versions):
                if text not in numbers:
                    continue
                own = self.run(self.exercise.versions(mistake)[rank], index)
                if own.outcome.kind != "returned" or self.is_right(index, own):
                    continue
                if not usual or kind_problem(own.outcome.value, want) is None:
                    yield _Line(mistake.name, text, numbers[text], recipe.sets(text), rank)

    def _explained(self, fn: Function, index: int) -> int:
        """Count the cases that a pair explains; 0 if it contradicts one, or fails on this one."""
        count = 0
        for other, case in enumerate(self.exercise.cases):
            own = observe(self.exercise, fn, case, other, SECONDS, watch=False)
            if self.right[other] and not self.is_right(other, own):
                return 0
            alike = not self.right[other] and behaves_alike(self.answer(other), own, case)
            if other == index and not alike:
                return 0
            count += alike
        return count


@dataclass(frozen=True)
class _Line:
    """One version of a mistake: its text, its number among all, and which of its kind it is."""

    name: str
    text: str
    number: int
    sets: frozenset[str]
    rank: int


def _holds(matches: Callable[..., bool], args: tuple[Any, ...], value: Any) -> bool:
    """Call a predicate, which may fail on some of what an answer can return."""
    try:
        return matches(args, value)
    except Exception:
        return False


def _by_rank(lines: list[_Line]) -> Iterator[tuple[_Line, _Line]]:
    """Yield the pairs that can be joined, those of early versions of their mistakes first."""
    pairs = sorted(itertools.combinations(lines, 2), key=lambda pair: pair[0].rank + pair[1].rank)
    for one, other in pairs:
        if one.name != other.name and not one.sets & other.sets:
            yield one, other


def _has_fractions(value: Any) -> bool:
    return any(
        part.is_floating_point()
        if isinstance(part, Tensor)
        else isinstance(part, float | np.floating)
        for part in tree_leaves(value)
    )


def _value(fn: Function, args: tuple[Any, ...]) -> Any:
    try:
        return fn(*tree_map_only(Tensor, Tensor.clone, args))
    except Exception:
        return None


def _is_conclusive(seen: Observation, case: Case) -> bool:
    """Return whether equal results can hardly be a coincidence: exact, and all numbers."""
    value = seen.outcome.value
    parts = value if isinstance(value, list | tuple) else [value]
    numbers = all(_is_finite(part) for part in parts)
    return seen.outcome.kind == "returned" and case.tolerance is None and numbers


def _is_finite(part: Any) -> bool:
    if is_number(part, float):
        return math.isfinite(part)
    if not isinstance(part, Tensor) or not is_dense(part) or part.device.type != "cpu":
        return False
    return bool(part.isfinite().all())
