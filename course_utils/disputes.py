"""A verdict that a learner thinks is wrong, in one file: what is needed to judge it once more."""

import importlib.metadata
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from course_utils.answers.literals import NoTextError
from course_utils.answers.source import module_source
from course_utils.checking.compare import named_tensors
from course_utils.checking.exercise import Exercise
from course_utils.checking.progress import journal_path
from course_utils.checking.report import Report
from course_utils.checking.settings import judging
from course_utils.notes import Note, asked_for

FILE = "dispute_{name}{number}.json"
_SEND = (
    "It holds your answer, the verdict, the inputs it was seen with, torch's settings and the "
    "versions; no name, and no solution. Send it to whoever teaches your class, or, if you learn "
    "alone, to the people who publish this course: with a new issue where its code is."
)


class Checked(NamedTuple):
    """A verdict of this session, the answer, and the session's settings at the time."""

    report: Report
    answer: Any
    settings: dict[str, str]


_CHECKED: dict[str, Checked] = {}  # the last one of each exercise


def remember(report: Report, answer: Any, settings: dict[str, str]) -> None:
    """Keep a verdict of this session, so that it can be disputed."""
    _CHECKED[report.exercise] = Checked(report, answer, settings)


def dispute(exercise: str | None = None, why: str = "") -> Note:
    """Write down a verdict that you think is wrong, in one file to send to those who can tell.

    It holds your answer, the verdict, the inputs it was seen with, torch's settings and the
    versions; no name, and no solution. It is in the current folder, and overwrites nothing.

    Args:
        exercise: The exercise's name; it must have been checked since the kernel was started.
        why: What you think, in your own words.
    """
    found = asked_for(exercise, "dispute")
    if isinstance(found, Note):
        return found
    if found.name not in _CHECKED:
        text = f'Check it first, in this notebook: `check("{found.name}", {found.name})`.'
        return Note("There is no verdict to dispute yet", found.name, text)
    text = json.dumps(_told(found, _CHECKED[found.name], why), indent=1, ensure_ascii=False)
    for folder in (Path.cwd(), journal_path().parent):
        try:
            path = _write(folder, found.name, text + "\n")
        except OSError:
            continue
        return Note(f"Written: {path.name}", found.name, f"{_SEND}\nThe file: `{path}`.")
    return Note("No file could be written. Copy this", found.name, _SEND, text)


def _told(exercise: Exercise, checked: Checked, why: str) -> dict[str, Any]:
    report = checked.report
    try:
        answer = module_source(checked.answer, exercise.name)
    except (NoTextError, SyntaxError, TypeError) as reason:
        answer = f"# Its text is not known: {reason}."
    return {
        "exercise": exercise.name,
        "chapter": exercise.chapter,
        "time": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "why": why,
        "verdict": {key: value for key, value in vars(report).items() if key != "picture"},
        "picture": str(report.picture) if report.picture else None,
        "case": _seen(exercise, report.case),
        "answer": answer,
        "settings": checked.settings | {"threads": str(torch.get_num_threads())},
        "versions": _versions(),
    }


def _seen(exercise: Exercise, name: str | None) -> dict[str, Any] | None:
    """Return the inputs on which an answer failed: the seed of a case is its number."""
    for seed, case in enumerate(exercise.cases):
        if case.name == name:
            with judging():
                arguments = named_tensors(exercise.parameters, case.kept(seed))
            return {"name": name, "seed": seed, "arguments": arguments}
    return None


def _versions() -> dict[str, str]:
    try:
        course = importlib.metadata.version("attention-course")
    except importlib.metadata.PackageNotFoundError:
        course = "not installed"
    machine = f"{platform.system()} {platform.machine()}"
    return {
        "course": course,
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": f"{machine}, {torch.backends.cpu.get_cpu_capability()}",
    }


def _write(folder: Path, name: str, text: str) -> Path:
    """Write a file of that exercise's that did not exist."""
    number = 1
    while True:
        path = folder / FILE.format(name=name, number="" if number == 1 else f"_{number}")
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
            return path
        except FileExistsError:
            number += 1
