"""Judge an answer: go through the cases from easy to hard and name the first mistake that shows.

At the first wrong case, it is the mistake whose own output equals the answer's there; else the two
mistakes that give it together; else the law that is broken; else the first value that differs.
"""

import inspect
from functools import partial
from typing import Any

from course_utils.checking.compare import describe
from course_utils.checking.costs import cost_problem, count_cost
from course_utils.checking.deadline import Stopwatch
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.gradient import gradient_problem, observe_gradient, same_gradients
from course_utils.checking.guard import SECONDS
from course_utils.checking.isolation import shared_snapshot
from course_utils.checking.mistakes import Mistake
from course_utils.checking.observe import Observation, is_right, is_stub, observe, problem
from course_utils.checking.picture import picture
from course_utils.checking.recognise import Recogniser, once
from course_utils.checking.report import Report
from course_utils.checking.settings import judging

BUDGET = 30.0  # seconds of processor time for all calls of one check


def judge(exercise: Exercise, answer: Any) -> Report:
    """Return the verdict on an answer; raise nothing that the answer raises, change nothing.

    It does not depend on torch's settings in the session: the judge has its own.
    """
    with judging(), shared_snapshot():
        return _Judgement(exercise, answer).verdict()


class _Judgement:
    def __init__(self, exercise: Exercise, answer: Any) -> None:
        self.exercise = exercise
        self.answer = answer
        self.spent = Stopwatch()
        self._report = partial(Report, exercise.name)
        self.note: str | None = None
        self.recogniser = Recogniser(exercise, self._try)

    def verdict(self) -> Report:
        return (
            self._not_callable()
            or self._missing_requirement()
            or self._first_wrong_case()
            or self._gradients()
            or self._costs()
            or self._report("passed", self._praise(), note=self.note)
        )

    def _not_callable(self) -> Report | None:
        name = self.exercise.name
        if self.answer is None or self.answer is ...:
            return self._report("not_attempted", f"There is no `{name}` yet.")
        if not callable(self.answer):
            return self._report(
                "wrong_type",
                f"`check` needs the function itself, got {describe(self.answer)}. "
                f'Write `check("{name}", {name})`, without calling it.',
            )
        if is_stub(self.answer):
            return self._report("not_attempted", "The function has no body yet.")
        return self._bad_signature()

    def _missing_requirement(self) -> Report | None:
        missing = self.exercise.lacks and self.exercise.lacks()
        return self._report("crashed", missing) if missing else None

    def _bad_signature(self) -> Report | None:
        try:
            signature = inspect.signature(self.answer)
        except (TypeError, ValueError):
            return None
        for index, case in enumerate(self.exercise.cases):
            if case.run is not None:
                continue
            try:
                signature.bind(*self.recogniser.run(self.exercise.reference, index).args)
            except TypeError as error:
                says = (
                    f"The function cannot be called as the exercise says ({error}). "
                    f"It must have the signature `{self.exercise.signature}`."
                )
                return self._report("crashed", says)
        return None

    def _first_wrong_case(self) -> Report | None:
        for index, case in enumerate(self.exercise.cases):
            seen = self.recogniser.answer(index)
            self.note = self.note or _printed(seen)
            found = problem(self.exercise, seen, self.recogniser.want(index), case)
            for mistake in self.exercise.mistakes:
                if not mistake.detects or not mistake.detects(seen.outcome.trace):
                    continue
                if mistake.even_if_right or found is not None:
                    return self._named((mistake,), index)
            if found is None:
                continue
            if found[0] == "not_attempted" and index == 0:
                return self._report(*found)
            named = self.recogniser.find(index)
            if named:
                return self._named((named,), index)
            together = self.recogniser.pair(index)
            if together:
                return self._named(together, index, alone=len(together) == 1)
            if found[0] == "not_attempted":
                found = ("crashed", "For this input the function still raises NotImplementedError.")
            return self._wrong(*found, index)
        return None

    def _try(self, index: int) -> Observation:
        """Run the answer on a case, within its remaining time."""
        left = max(0.2, min(SECONDS, BUDGET - self.spent.seconds()))
        return observe(self.exercise, self.answer, self.exercise.cases[index], index, left)

    def _gradients(self) -> Report | None:
        for index, case in enumerate(self.exercise.cases):
            if not case.gradient:
                continue
            got, args = observe_gradient(self.answer, case, index, SECONDS)
            want = self.recogniser.slopes(self.exercise.reference, index)
            says = gradient_problem(self.exercise, case, got, want, args)
            if says and got.kind != "returned":
                return self._report("no_gradient", says, case=case.name)
            if says:
                return self._lost_gradient(says, case, index, got.value)
        return None

    def _lost_gradient(self, says: str, case: Case, index: int, got: Any) -> Report:
        wanted = self.recogniser.want(index)
        for mistake in self.exercise.mistakes:
            for version in self.exercise.versions(mistake):
                value = self.recogniser.run(version, index)
                if mistake.detects or not is_right(value, wanted, case):
                    continue
                own = self.recogniser.slopes(version, index)
                if own.kind == "returned" and same_gradients(own.value, got):
                    return self._report("misconception", mistake.says, (mistake.name,), case.name)
        return self._report("no_gradient", says, case=case.name)

    def _costs(self) -> Report | None:
        for cost in self.exercise.costs:
            counts = count_cost(cost, self.answer)
            says = cost_problem(cost, counts)
            if says is None:
                continue
            if counts is None:
                return self._report("too_costly", says)
            for mistake in self.exercise.mistakes:
                alike = (
                    counts == once("cost", cost, fn, partial(count_cost, cost, fn))
                    for fn in self.exercise.versions(mistake)
                )
                if mistake.name == cost.mistake or (cost.mistake is None and any(alike)):
                    return self._report("misconception", mistake.says, (mistake.name,))
            return self._report("too_costly", says)
        return None

    def _praise(self) -> str:
        count = len(self.exercise.cases)
        graded = sum(bool(case.gradient) for case in self.exercise.cases)
        extra = f", gradients in {graded} of them" if graded else ""
        extra += " and the cost" if self.exercise.costs else ""
        return f"Right in all {count} cases{extra}."

    def _named(self, mistakes: tuple[Mistake, ...], index: int, alone: bool = False) -> Report:
        says = "\n\n".join(mistake.says for mistake in mistakes)
        if len(mistakes) == 2:
            says = f"Two things at once. {says}"
        elif alone:
            says += "\n\nThat is not all: something else differs, too."
        names = tuple(mistake.name for mistake in mistakes)
        return self._wrong("misconception", says, index, names)

    def _wrong(self, status: str, says: str, index: int, names: tuple[str, ...] = ()) -> Report:
        case, outcome = self.exercise.cases[index], self.recogniser.answer(index).outcome
        drawn = None
        if outcome.kind == "returned" and case.run is None:
            want, parts = self.recogniser.want(index), self.exercise.parts
            drawn = picture(self.exercise.reference, outcome.value, want, parts)
        return self._report(status, says, names, case.name, self.note, drawn)


def _printed(seen: Observation) -> str | None:
    """Return what a learner should know of the output that was held back."""
    length, kept = seen.outcome.printed_length, seen.outcome.printed.strip()
    if not kept:
        return None
    if length > len(seen.outcome.printed):
        return f"The call printed {length:,} characters; they begin: {kept[:200]}"
    return f"The call printed: {kept}"
