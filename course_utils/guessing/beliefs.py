"""A learner's guesses: a summary of how well they fit, and those that come back."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from course_utils.checking.reviewing import DAY, DAYS
from course_utils.guessing.known import known
from course_utils.guessing.scoring import CLOSE, side


@dataclass(frozen=True)
class Belief:
    """One guess.

    Attributes:
        name: The question's.
        time: When it was given, in seconds.
        given: The guess.
        truth: What was measured, or what the question's formula gave in the numbers asked.
        off: How far off it was, from 0 to 1.
    """

    name: str
    time: float
    given: Any
    truth: Any
    off: float

    @property
    def close(self) -> bool:
        """True if it was right, or within a tenth of the scale."""
        return self.off <= CLOSE


def beliefs(events: Iterable[dict[str, Any]]) -> Iterator[Belief]:
    """Yield the guesses of a journal, oldest first, but for those to questions that are gone."""
    for event in events:
        if event.get("event") == "guess" and event["exercise"] in known():
            try:
                name, time, off = event["exercise"], float(event["time"]), float(event["off"])
                yield Belief(name, time, event["given"], event["truth"], off)
            except (KeyError, TypeError, ValueError):
                continue  # torn, or not from this course


def _latest(events: Iterable[dict[str, Any]]) -> list[Belief]:
    return list({one.name: one for one in beliefs(events)}.values())


def calibration(events: Iterable[dict[str, Any]], chapters: set[int]) -> str:
    """Return a sentence on how well the latest guess to each question fits; empty without any."""
    last = [one for one in _latest(events) if known()[one.name].question.chapter in chapters]
    if not last:
        return ""
    parts = [f"{len(last)} of {len(_asked(chapters))} guesses given"]
    numbers = [one for one in last if known()[one.name].question.kind == "number"]
    if numbers:
        sides = [side(known()[one.name].question, one.given, one.truth) for one in numbers]
        close, high, low = sides.count(0), sides.count(1), sides.count(-1)
        parts.append(f"of {len(numbers)} numbers {close} close, {high} too high, {low} too low")
    for kind, right in (("choice", "right"), ("order", "close"), ("curve", "close")):
        some = [one.close for one in last if known()[one.name].question.kind == kind]
        if some:
            parts.append(f"of {len(some)} {kind}s {sum(some)} {right}")
    return f"{'; '.join(parts)}. (Close is within a tenth of the scale.)"


def _asked(chapters: set[int]) -> list[str]:
    return [name for name, row in known().items() if row.question.chapter in chapters]


def due_guesses(events: Iterable[dict[str, Any]], now: float) -> list[tuple[Belief, int]]:
    """Return the guesses to give again and how many days ago they were given, the worst first.

    One that was not close comes back 2, 7, 21 and 60 days after it was given, until one is close;
    a second guess within a day does not count.

    Args:
        events: A learner's journal, oldest first.
        now: The time, in seconds.
    """
    days: dict[str, list[float]] = {}
    last: dict[str, Belief] = {}
    for one in beliefs(events):
        last[one.name] = one
        if one.time - days.get(one.name, [-DAY])[-1] >= DAY:
            days.setdefault(one.name, []).append(one.time)
    found = []
    for name, one in last.items():
        times, ago = days[name], int((now - one.time) // DAY)
        if not one.close and len(times) <= len(DAYS) and ago >= DAYS[len(times) - 1]:
            found.append((one, ago))
    return sorted(found, key=lambda row: -row[0].off)
