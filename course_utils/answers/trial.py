"""An experiment run with the course's functions and with the learner's, and the outcome."""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from course_utils.answers import kept
from course_utils.answers.chosen import Chosen, Functions
from course_utils.answers.sameness import difference
from course_utils.checking.judge import judge
from course_utils.checking.report import card
from course_utils.exercises import find, places

_SHORT, _LONG = 0.05, 3.0  # seconds: below the one, a ratio of times says nothing
_INSTEAD = "The numbers below are the course's."
_COLOURS = {"→": "#3b78b5", "✓": "#2e8540", "✗": "#c05717"}


@dataclass(frozen=True, repr=False)
class Run:
    """The outcome of an experiment.

    Attributes:
        chosen: The functions that it ran with.
        course: The result with the course's.
        result: The result with the learner's; where they raised, which `differs` says, the
            course's again, so that printing from it works.
        differs: How the two differ, as a sentence; empty if they are equal up to rounding.
        to_blame: What is known of each function that alone changes the result.
        ratio: The learner's processor time divided by the course's; None
            where that is too short to say.
    """

    chosen: Chosen
    course: Any
    result: Any
    differs: str = ""
    to_blame: Mapping[str, str] = field(default_factory=dict)
    ratio: float | None = None

    @property
    def equal(self) -> bool:
        """True if the results are equal up to rounding."""
        return not self.differs

    def _headline(self) -> str:
        if not self.chosen.own:
            return "→ Run with the course's parts alone"
        return "✓ The same result, to rounding" if self.equal else "✗ Not the same result"

    def _sentences(self) -> list[str]:
        if not self.chosen.own:
            return ["A part becomes yours as soon as its check passes. Then run this cell again."]
        said = [f"{self.chosen.count()}. {self.differs}".strip()]
        said += [f"`{name}` is to blame: {why}" for name, why in self.to_blame.items()]
        if self.differs and not self.to_blame:
            said.append("Alone, none of your parts does this: it takes several of them together.")
        if self.ratio is not None:
            said.append(f"Your parts took {_times(self.ratio)}.")
        return said

    def __repr__(self) -> str:
        head = f"Yours: {self._headline()[2:]}"
        return "\n".join([head, *self._sentences(), *self.chosen.lines()])

    def _repr_html_(self) -> str:
        title = self._headline()
        colour = _COLOURS[title[0]]
        return card(title, "yours", self._sentences(), colour=colour, below=self.chosen.table())


def run(chosen: Chosen, experiment: Callable[[Any], Any], tolerance: float | None = None) -> Run:
    """Run an experiment with both, and where they differ, with halves of the learner's, and so on.

    Args:
        chosen: The functions.
        experiment: What is done with them.
        tolerance: The largest relative difference that counts as equal; None is the dtype's own.
    """
    course, course_time = _timed(experiment, chosen.functions(()))
    if not chosen.own:
        return Run(chosen, course, course)

    def tried(*names: str) -> tuple[Any, str, float]:
        """Return the result, how it differs, and its time."""
        try:
            result, seconds = _timed(experiment, chosen.functions(names))
        except Exception as error:
            return course, _raised(error), 0.0
        return result, difference(course, result, tolerance), seconds

    result, differs, own_time = tried(*chosen.own)
    if not differs and course_time < _LONG:  # again: the first run warms up for the second
        course_time = min(course_time, _timed(experiment, chosen.functions(()))[1])
    ratio = own_time / course_time if min(own_time, course_time) > _SHORT else None

    def alone(names: list[str], says: str) -> Iterator[tuple[str, str]]:
        """Bisect a group that differs; yield each name that differs alone, and how."""
        if len(names) == 1:
            yield names[0], says
            return
        for half in (names[: len(names) // 2], names[len(names) // 2 :]):
            if says := tried(*half)[1]:
                yield from alone(half, says)

    to_blame = {}
    for name, says in alone([*chosen.own], differs) if differs else ():
        does = "it does this by itself." if says == differs else f"by itself: {says}"
        to_blame[name] = f"{does} {_judged(name, chosen.own[name])}"
    return Run(chosen, course, result, differs, to_blame, ratio)


def _timed(experiment: Callable[[Any], Any], functions: Functions) -> tuple[Any, float]:
    """Return the result and the processor time; the random state is restored afterwards."""
    with torch.random.fork_rng(devices=[]):
        start = time.process_time()
        result = experiment(functions)
        return result, time.process_time() - start


def _judged(name: str, function: Callable[..., Any]) -> str:
    """Return what the exercise's own check says about a function that is to blame."""
    report = judge(find(name), function)
    if report.passed:
        return "Its check passes nevertheless: the experiment asks more of it than the check."
    return f"Its check no longer passes: {report.headline}."


def _raised(error: Exception) -> str:
    """Return what was raised, and in which of the learner's functions."""
    last = traceback.format_exception_only(error)[-1].strip()
    kept_as = {str(kept.kept_path(name)): name for name in places()}
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in kept_as]
    if not frames:
        return f"The experiment stopped with `{last}`. {_INSTEAD}"
    name, line = kept_as[frames[-1].filename], (frames[-1].line or "").strip()
    return f"Your `{name}` stopped at `{line}` with `{last}`. {_INSTEAD}"


def _times(ratio: float) -> str:
    if 0.8 < ratio < 1.25:
        return "about as much processor time as the course's"
    return f"{ratio:.{1 if ratio < 10 else 0}f} times the course's processor time"
