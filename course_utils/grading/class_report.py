"""Report what a class gets wrong, as one page that needs no network: `report` on the command line.

It is made of graded hand-ins (`results.jsonl`), and of learners' own progress files and disputed
verdicts (`dispute_*.json`) where they hand them in. Learners appear as numbers; their initials can
be shown. No name stands in the page. Guesses get a page of their own, with nobody's number.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from course_utils.checking.exercise import Exercise
from course_utils.checking.progress import json_lines
from course_utils.checking.report import inline_html
from course_utils.exercises import all_exercises
from course_utils.grading import believing
from course_utils.grading.bulk import RESULTS, write_csv
from course_utils.grading.disputed import Dispute, disputes
from course_utils.guessing.beliefs import Belief

PAGE = "report.html"


@dataclass(frozen=True)
class Attempt:
    """One verdict on one learner's answer."""

    learner: str
    exercise: str
    time: float
    passed: bool
    mistakes: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A class's results on an exercise: how many tried, passed at first, and pass by now."""

    exercise: Exercise
    tried: int
    first: int
    now: int
    again: int  # came back after a first try that did not pass


@dataclass(frozen=True)
class Wrong:
    """A mistake: who made it, who is still making it, in which exercises, what helps."""

    name: str
    learners: frozenset[str]
    still: frozenset[str]
    exercises: tuple[str, ...]
    says: str


class ClassReport:
    """Statistics of a class's attempts.

    Args:
        attempts: In any order. What is not from this course is left out: a submission can claim
            anything.
        disputes: Verdicts that learners think are wrong.
        guesses: Who guessed what, each learner's oldest first.
    """

    def __init__(
        self,
        attempts: Iterable[Attempt],
        disputes: Iterable[Dispute] = (),
        guesses: Iterable[tuple[str, Belief]] = (),
    ) -> None:
        known = {one.name: one for one in all_exercises()}
        self.attempts = sorted(
            (one for one in attempts if one.exercise in known), key=lambda one: one.time
        )
        self.disputes = list(disputes)
        tried = {one.learner for one in self.attempts}
        self.believed = believing.believed(guesses)
        guessed = {learner for one in self.believed for learner in one.given}
        self.learners = sorted(tried | guessed | {one.learner for one in self.disputes})
        self._known = known
        self._tries: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
        for one in self.attempts:
            self._tries[one.learner, one.exercise].append(one)

    @cached_property
    def rows(self) -> list[Row]:
        """The exercises that anyone tried, in the order of the course."""
        rows = []
        for name, exercise in self._known.items():
            tries = [self._tries[key] for key in self._tries if key[1] == name]
            if tries:
                first = sum(one[0].passed for one in tries)
                now = sum(any(each.passed for each in one) for one in tries)
                again = sum(len(one) > 1 and not one[0].passed for one in tries)
                rows.append(Row(exercise, len(tries), first, now, again))
        return rows

    @cached_property
    def mistakes(self) -> list[Wrong]:
        """The mistakes that were recognised, the most widespread first."""
        made: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for one in self.attempts:
            own = {each.name for each in self._known[one.exercise].mistakes}
            for name in own.intersection(one.mistakes):
                made[name].add((one.learner, one.exercise))
        found = []
        for name, where in made.items():
            exercises = tuple(each for each in self._known if any(e == each for _, e in where))
            stuck = frozenset(learner for learner, e in where if not self._has_passed(learner, e))
            mistakes = self._known[exercises[0]].mistakes
            says = next(each.says for each in mistakes if each.name == name)
            learners = frozenset(learner for learner, _ in where)
            found.append(Wrong(name, learners, stuck, exercises, says))
        return sorted(found, key=lambda one: (-len(one.learners), one.name))

    @cached_property
    def pairs(self) -> list[tuple[Wrong, Wrong, int]]:
        """Mistakes that at least three learners make together, and how many do."""
        both = [(a, b, len(a.learners & b.learners)) for a, b in combinations(self.mistakes, 2)]
        return sorted((one for one in both if one[2] >= 3), key=lambda one: -one[2])[:10]

    @cached_property
    def stuck(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """Who has tried what without passing it yet, and how often; most exercises first."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for (learner, exercise), tries in self._tries.items():
            if not self._has_passed(learner, exercise):
                found[learner].append((exercise, len(tries)))
        return sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))

    @cached_property
    def lecture(self) -> list[Wrong]:
        """The three mistakes with which most learners are left."""
        left = sorted(self.mistakes, key=lambda one: -len(one.still))
        return [one for one in left if one.still][:3]

    def _has_passed(self, learner: str, exercise: str) -> bool:
        return any(one.passed for one in self._tries[learner, exercise])

    def number(self, learner: str) -> int:
        """Return a learner's name in the page."""
        return self.learners.index(learner) + 1


def entries(place: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield whose each line is, and the line; see `attempts`.

    Raises:
        FileNotFoundError: There is no such file or folder.
    """
    if not place.exists():
        raise FileNotFoundError(f"there must be a folder or a .jsonl file at {place}")
    if place.is_file() and place.suffix == ".json":
        return  # a disputed verdict
    for path in [place] if place.is_file() else sorted(place.rglob("*.jsonl")):
        parts = path.relative_to(place).parts if path != place else (path.name,)
        owner = parts[0] if len(parts) > 1 else path.stem
        yield from ((owner, said) for said in json_lines(path))


def attempts(place: Path) -> Iterator[Attempt]:
    """Read the verdicts in a file of results or of progress, or in a folder of them.

    A progress file belongs to the learner named by its folder, or by its own name if it is in none.

    Raises:
        FileNotFoundError: There is no such file or folder.
    """
    for owner, said in entries(place):
        try:
            yield from _in_line(said, owner)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # not from this course


def _in_line(said: dict[str, Any], owner: str) -> Iterator[Attempt]:
    verdicts = said["reports"] if "reports" in said else [said] * (said["event"] == "check")
    for one in verdicts:
        if one["status"] != "not_attempted":
            learner, time = str(said.get("learner", owner)), float(said["time"])
            mistakes = tuple(map(str, one["misconceptions"]))
            yield Attempt(learner, str(one["exercise"]), time, one["status"] == "passed", mistakes)


def initials(learner: str) -> str:
    """Return the first letters of a name, a login or an address."""
    words = re.findall(r"[^\s_.-]+", learner.partition("@")[0])
    return " ".join(f"{word[0].upper()}." for word in words[:3])


def write(report: ClassReport, folder: Path) -> Path:
    """Write the page, its larger tables as CSV, and what the class believed; return the page."""
    environment = Environment(
        loader=PackageLoader("course_utils", "grading"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline": lambda text: Markup(inline_html(text)), "initials": initials}
    template = environment.get_template("class_report.html")
    page = folder / PAGE
    page.write_text(template.render(report=report), encoding="utf-8")
    write_csv(
        folder / "exercises.csv",
        ("chapter", "exercise", "tried", "passed at first", "pass now"),
        *((r.exercise.chapter, r.exercise.name, r.tried, r.first, r.now) for r in report.rows),
    )
    write_csv(
        folder / "mistakes.csv",
        ("mistake", "learners", "still", "exercises"),
        *((m.name, len(m.learners), len(m.still), " ".join(m.exercises)) for m in report.mistakes),
    )
    if report.believed:
        believed = environment.get_template(believing.PAGE)
        text = believed.render(questions=report.believed, learners=len(report.learners))
        (folder / believing.PAGE).write_text(text, encoding="utf-8")
        rows = believing.table(report.believed, report.number)
        write_csv(folder / "guesses.csv", *rows)
    return page


def main(argv: Sequence[str]) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m course_utils.grading report", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("places", nargs="+", type=Path, help=f"{RESULTS}, progress files, folders")
    parser.add_argument("--into", type=Path, help="the page's folder (default: the first place)")
    options = parser.parse_args(argv)
    try:
        report = ClassReport(
            (one for place in options.places for one in attempts(place)),
            (one for place in options.places for one in disputes(place)),
            (one for place in options.places for one in believing.guesses(entries(place))),
        )
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    if not report.learners:
        print("no verdict on an exercise and no guess was found there", file=sys.stderr)
        return 1
    first = options.places[0]
    print(write(report, options.into or (first if first.is_dir() else first.parent)))
    return 0
