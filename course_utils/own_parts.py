"""The learner's own functions in place of the course's, and an experiment run with both.

Only here are kept answers ever executed: they are the learner's own code, run by the learner.
"""

import html
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from course_utils.checking import kept
from course_utils.checking.judge import judge
from course_utils.checking.report import card
from course_utils.exercises import find, places
from course_utils.sameness import difference

_SHORT = 0.05  # seconds: below, a ratio of times says nothing


def yours(*names: str) -> "Parts":
    """Return these functions: the learner's own where the exercise is passed, else the course's.

    Args:
        *names: Names of exercises; none at all are those that are passed.

    Raises:
        KeyError: No exercise has that name; the message lists the near ones.
    """
    chosen = names or tuple(name for name in places() if kept.kept_path(name).is_file())
    references = {name: find(name).reference for name in chosen}
    own, broken = {}, {}
    for name in chosen:
        if kept.kept_path(name).is_file():
            try:
                own[name] = kept.load(name)
            except ImportError as error:
                broken[name] = str(error)
    return Parts(references, own, broken)


class Functions:
    """Functions as attributes."""

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        there = ", ".join(one for one in vars(self) if not one.startswith("_"))
        raise AttributeError(f'there is no part "{name}" here, only {there}: name it in yours(...)')


class Parts(Functions):
    """What `yours` returns: the functions as attributes, and `run`."""

    def __init__(
        self,
        references: dict[str, Callable[..., Any]],
        own: dict[str, Callable[..., Any]],
        broken: dict[str, str],
    ) -> None:
        super().__init__(references | own)
        self._references, self._own, self._broken = references, own, broken

    def run(self, experiment: Callable[[Any], Any], *, tolerance: float | None = None) -> "Run":
        """Run an experiment with the course's functions, then with the learner's, and compare.

        Args:
            experiment: Takes an object with the functions as attributes; returns a tensor, number,
                string, or a dict, list or tuple of such.
            tolerance: The largest relative difference that still counts as equal; None is the
                dtype's own rounding.
        """

        def tried(names: Iterable[str]) -> tuple[Any, str, float]:
            """Return the result, or how it failed, and the processor time."""
            functions = self._references | {name: self._own[name] for name in names}
            with torch.random.fork_rng(devices=[]):
                start = time.process_time()
                try:
                    result, failed = experiment(Functions(functions)), ""
                except Exception as error:
                    result, failed = None, _raised(error)
                return result, failed, time.process_time() - start

        with torch.random.fork_rng(devices=[]):
            start = time.process_time()
            course = experiment(Functions(self._references))
            course_time = time.process_time() - start
        if not self._own:
            return Run(self, course, course)
        result, failed, own_time = tried(self._own)
        differs = failed or difference(course, result, tolerance)
        ratio = own_time / course_time if min(own_time, course_time) > _SHORT else None
        if not differs:
            return Run(self, course, result, ratio=ratio)
        to_blame = {}
        for name in self._own:
            alone, failed_alone, _ = tried([name]) if len(self._own) > 1 else (result, failed, 0.0)
            says = failed_alone or difference(course, alone, tolerance)
            if says:
                does = "it does the same." if says == differs else f"it gives: {says}"
                to_blame[name] = f"{does} {self._judged(name)}"
        return Run(self, course, result, differs, to_blame, ratio)

    def _judged(self, name: str) -> str:
        """Say what the exercise's own check thinks of a part that is to blame."""
        report = judge(find(name), self._own[name])
        if report.passed:
            return "Its check passes all the same: the experiment asks more of it than the check."
        return f"Its check does not pass either: {report.headline}."

    def _whose(self) -> list[tuple[str, str]]:
        """Return each part's name and whose it is."""
        said = []
        for name in self._references:
            whose = "yours" if name in self._own else "the course's"
            if name in self._broken:
                whose = f"the course's: your file stops with {self._broken[name]}"
            said.append((name, whose))
        return said

    def __repr__(self) -> str:
        return "\n".join([f"{self._count()}.", *self._lines()])

    def _lines(self) -> list[str]:
        width = max(map(len, self._references), default=0)
        return [f"{name:<{width}}  {whose}" for name, whose in self._whose()]

    def _count(self) -> str:
        total, own = len(self._references), len(self._own)
        if not own:
            return "All parts are the course's; one becomes yours when its check passes"
        return "All parts are yours" if own == total else f"{own} of {total} parts are yours"

    def _table(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;font-weight:normal"><code>{name}</code>'
            f'</th><td style="text-align:left">{html.escape(whose)}</td></tr>'
            for name, whose in self._whose()
        )
        return (
            '<table style="margin:.3em 0"><thead><tr><th scope="col" style="text-align:left">part'
            f'</th><th scope="col" style="text-align:left">whose</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

    def _repr_html_(self) -> str:
        return card(f"→ {self._count()}", "yours", [], below=self._table())


@dataclass(frozen=True, repr=False)
class Run:
    """What came of an experiment with the course's parts and with the learner's.

    Attributes:
        parts: What it ran with.
        course: The result with the course's parts.
        result: The result with the learner's; None where they raised.
        differs: How the two differ, as a sentence; empty where they are equal to rounding.
        to_blame: What each part does wrong that alone changes the result.
        ratio: How many times the processor time of the course's parts the learner's took.
    """

    parts: Parts
    course: Any
    result: Any
    differs: str = ""
    to_blame: dict[str, str] | None = None
    ratio: float | None = None

    @property
    def equal(self) -> bool:
        """Whether the results are equal to rounding."""
        return not self.differs

    @property
    def _headline(self) -> str:
        if not self.parts._own:
            return "Run with the course's parts alone"
        return "The same numbers, to rounding" if self.equal else "Not the same"

    def _sentences(self) -> list[str]:
        parts, said = self.parts, []
        if not parts._own:
            said.append("Each part becomes yours as soon as its check passes.")
        elif self.equal:
            said.append(f"{parts._count()}, and the experiment gives what the course's give.")
        else:
            said.append(f"{parts._count()}. {self.differs}")
            for name, why in (self.to_blame or {}).items():
                said.append(f"`{name}` is to blame: alone among the course's parts, {why}")
            if not self.to_blame:
                said.append(
                    "Alone, none of your parts does that: it takes several of them together."
                )
        if self.ratio is not None:
            said.append(f"With your parts it took {_times(self.ratio)} the processor time.")
        return said

    def __repr__(self) -> str:
        lines = [f"Yours: {self._headline}", *self._sentences(), *self.parts._lines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        mark = "→" if not self.parts._own else "✓" if self.equal else "✗"
        colour = {"→": "#3b78b5", "✓": "#2e8540", "✗": "#c05717"}[mark]
        below = self.parts._table()
        return card(
            f"{mark} {self._headline}", "yours", self._sentences(), colour=colour, below=below
        )


def _raised(error: Exception) -> str:
    """Say what was raised, and in which of the learner's parts."""
    last = traceback.format_exception_only(error)[-1].strip()
    where = {str(kept.kept_path(name)): name for name in places()}
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in where
    ]
    if not frames:
        return f"The experiment stopped with `{last}`."
    name, line = where[frames[-1].filename], (frames[-1].line or "").strip()
    return f"Your `{name}` stopped at `{line}` with `{last}`."


def _times(ratio: float) -> str:
    if 0.8 < ratio < 1.25:
        return "about"
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"
