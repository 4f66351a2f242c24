"""Choose exercises to write again, and when: what was hard comes back, at growing intervals.

Source: Cepeda et al. 2006, "Distributed Practice in Verbal Recall Tasks: A Review and Quantitative
    Synthesis": what is repeated after a while is retained longer than what is repeated at once
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

DAYS = (2, 7, 21, 60)  # after the first pass, the second, ...
DAY = 24 * 60 * 60


@dataclass(frozen=True)
class Due:
    """An exercise that is due.

    Attributes:
        exercise: Its name.
        days: How many whole days ago it was passed last.
        tries: How many answers did not pass, before the first that did and since.
        mistakes: The names of the mistakes that were recognised, in order.
    """

    exercise: str
    days: int
    tries: int
    mistakes: tuple[str, ...]


def due(events: Iterable[dict[str, Any]], now: float) -> list[Due]:
    """Return the exercises to write again, those of most tries first.

    One comes back 2, 7, 21 and 60 days after it was passed; passing it again within a day
    of the last time does not count.

    Args:
        events: A learner's journal, oldest first.
        now: The time, in seconds.
    """
    passes: dict[str, list[float]] = {}
    wrong: dict[str, list[list[str]]] = {}
    for event in events:
        name, status = event["exercise"], event.get("status")
        if event.get("event") != "check" or status == "not_attempted":
            continue
        if status != "passed":
            wrong.setdefault(name, []).append(list(event.get("misconceptions", ())))
        elif event["time"] - passes.get(name, [-DAY])[-1] >= DAY:
            passes.setdefault(name, []).append(event["time"])
    found = []
    for name, times in passes.items():
        days = int((now - times[-1]) // DAY)
        if len(times) <= len(DAYS) and days >= DAYS[len(times) - 1]:
            tries = wrong.get(name, [])
            mistakes = dict.fromkeys(one for named in tries for one in named)
            found.append(Due(name, days, len(tries), tuple(mistakes)))
    return sorted(found, key=lambda one: (-one.tries, -len(one.mistakes), -one.days))
