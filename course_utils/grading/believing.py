"""The beliefs of a class: its guesses to each question, beside what was measured.

The page names nobody. A learner who guessed twice (alone, then after a discussion) counts in both
rows, the first guesses and the last.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_utils.guessing.beliefs import Belief, beliefs
from course_utils.guessing.known import known
from course_utils.guessing.question import Question
from course_utils.guessing.scoring import place

PAGE = "believed.html"
BINS = 10
_HEAD = ("question", "kind", "learner", "guess", "given", "measured", "off")


@dataclass
class Believed:
    """A question with each learner's guesses, oldest first."""

    question: Question
    truth: Any
    given: dict[str, list[Belief]] = field(default_factory=dict)

    @property
    def first(self) -> list[Belief]:
        """Each learner's first guess."""
        return [some[0] for some in self.given.values()]

    @property
    def last(self) -> list[Belief]:
        """Each learner's last guess; none where nobody guessed twice."""
        twice = any(len(some) > 1 for some in self.given.values())
        return [some[-1] for some in self.given.values()] if twice else []

    @property
    def close(self) -> str:
        """A sentence that counts the first guesses that were close, and the last ones."""
        rows = [("first", self.first), ("last", self.last)]
        return "; ".join(
            f"{sum(one.close for one in some)} of {len(some)} {words} guesses are close"
            for words, some in rows
            if some
        )

    def bars(self, some: Sequence[Belief]) -> list[tuple[str, int, bool]]:
        """Return a histogram's rows: what was guessed, by how many, and if it is what was measured.

        Numbers are counted in ten parts of the scale; of a curve, the distance from what was
        measured is.
        """
        question = self.question
        if question.kind == "number":
            counts = Counter(_part(question, one.given) for one in some)
            right = _part(question, self.truth)
            return [(_range(question, i), counts[i], i == right) for i in range(BINS)]
        if question.kind == "curve":
            shares = Counter(min(int(BINS * one.off), BINS - 1) for one in some)
            names = [f"{100 * i // BINS} to {100 * (i + 1) // BINS}% off" for i in range(BINS)]
            return [(names[i], shares[i], i == 0) for i in range(BINS) if shares[i] or not i]
        said = Counter(_words(one.given) for one in some)
        wanted = _words(self.truth)
        names = list(question.options) if question.kind == "choice" else [*said, wanted]
        rows = [(name, said[name], name == wanted) for name in dict.fromkeys(names)]
        return rows if question.kind == "choice" else sorted(rows, key=lambda row: -row[1])[:6]


def _part(question: Question, value: float) -> int:
    return min(int(BINS * place(question, value)), BINS - 1)


def _range(question: Question, part: int) -> str:
    low, high = question.low, question.high
    ends = [part / BINS, (part + 1) / BINS]
    values = [low * (high / low) ** e if question.log else low + e * (high - low) for e in ends]
    return f"{values[0]:,.3g} to {values[1]:,.3g} {question.unit}".rstrip()


def _words(given: Any) -> str:
    return ", ".join(map(str, given)) if isinstance(given, list) else str(given)


def guesses(entries: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, Belief]]:
    """Yield who guessed what, from the lines of learners' journals."""
    for owner, said in entries:
        if isinstance(said.get("exercise"), str):
            yield from ((str(said.get("learner", owner)), one) for one in beliefs([said]))


def believed(guesses: Iterable[tuple[str, Belief]]) -> list[Believed]:
    """Return the questions that anyone guessed, in the order of the course.

    A guess that a later time asked in other numbers is another question, and left out.
    """
    found = {name: Believed(row.question.posed(0), row.truth) for name, row in known().items()}
    for learner, one in sorted(guesses, key=lambda row: row[1].time):
        if one.truth == found[one.name].truth and _fits(found[one.name].question, one.given):
            found[one.name].given.setdefault(learner, []).append(one)
    return [one for one in found.values() if one.given]


def _fits(question: Question, given: Any) -> bool:
    """Return whether a guess could have been given: a journal can claim anything."""
    number = (int, float)
    if question.kind == "number":
        return isinstance(given, number) and not isinstance(given, bool)
    if question.kind == "choice":
        return given in list(question.options)
    if not isinstance(given, list):
        return False
    if question.kind == "order":
        return sorted(map(str, given)) == sorted(question.options)
    return len(given) == len(question.x) and all(isinstance(y, number) for y in given)


def table(rows: Sequence[Believed], number: Callable[[str], int]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table of all guesses for a study, after its head."""
    yield _HEAD
    for row in rows:
        for learner, some in row.given.items():
            for count, one in enumerate(some, start=1):
                about = row.question.name, row.question.kind, number(learner), count
                yield *about, _words(one.given), _words(one.truth), one.off
