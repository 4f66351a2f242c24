"""The questions of all chapters with what was measured, as `tools.guesses` wrote them."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from course_utils.guessing.question import Given, Question

PATH = Path(__file__).with_name("guesses.json")


class Known(NamedTuple):
    """A question, what was measured, and the digest of the cell that measures it."""

    question: Question
    truth: Given
    cell: str


@cache
def known() -> dict[str, Known]:
    """Return all questions by name, in the order of the course."""
    rows: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))
    return {
        row["name"]: Known(
            Question(**{k: v for k, v in row.items() if k not in ("truth", "cell")}),
            row["truth"],
            row["cell"],
        )
        for row in rows
    }


def digest(cell: str) -> str:
    """Return what a cell is known by: a hash of its text."""
    return hashlib.sha256(cell.strip().encode()).hexdigest()[:12]
