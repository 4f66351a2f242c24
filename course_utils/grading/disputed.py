"""Verdicts that learners dispute, from the files that `dispute` writes, judged here once more."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.checking.report import STATUSES, Report
from course_utils.exercises import find
from course_utils.grading.grade import grade


@dataclass(frozen=True)
class Dispute:
    """One disputed verdict.

    Attributes:
        learner: Who sent it: its folder, or the file's own name.
        report: The verdict that was disputed.
        why: The learner's words.
        answer: The answer's text.
        session: torch's settings and the versions at the time.
        now: What this installation says of the answer.
    """

    learner: str
    report: Report
    why: str
    answer: str
    session: dict[str, str]
    now: str


def disputes(place: Path) -> Iterator[Dispute]:
    """Read the disputes in a folder, or in one file; what is not one is skipped."""
    for path in [place] if place.is_file() else sorted(place.rglob("dispute_*.json")):
        parts = path.relative_to(place).parts if path != place else (path.name,)
        try:
            said = json.loads(path.read_text(encoding="utf-8", errors="replace"))
            yield _dispute(said, parts[0] if len(parts) > 1 else path.stem)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue  # not from this course: a submission can hold anything


def _dispute(said: dict[str, Any], learner: str) -> Dispute:
    exercise, verdict, answer = find(said["exercise"]), said["verdict"], str(said["answer"])
    status = str(verdict["status"])
    report = Report(
        exercise.name,
        status if status in STATUSES else "crashed",
        str(verdict["says"]),
        tuple(map(str, verdict["misconceptions"])),
        str(verdict["case"]) if verdict["case"] else None,
    )
    session = {str(k): str(v) for part in ("settings", "versions") for k, v in said[part].items()}
    now = grade(exercise.name, [answer]).headline
    return Dispute(learner, report, str(said["why"]), answer, session, now)
