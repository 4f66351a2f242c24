"""Read what grading needs from a submitted notebook, which may hold anything."""

import json
from typing import Any

from course_utils.exercises import all_exercises


def code_cells(text: str) -> list[str]:
    """Return the text of a notebook's code cells, in order.

    Raises:
        ValueError: The text is not a notebook.
    """
    cells = []
    for cell in _cells(text):
        source = cell.get("source", "")
        joined = "".join(map(str, source)) if isinstance(source, list) else str(source)
        cells += [joined] if cell.get("cell_type") == "code" else []
    return cells


def asked(text: str) -> list[str]:
    """Return the exercises that a notebook asks for, in order, by the names of its cells.

    Raises:
        ValueError: The text is not a notebook.
    """
    known = {exercise.name for exercise in all_exercises()}
    names = [str(_metadata(cell).get("exercise")) for cell in _cells(text)]
    return [name for name in dict.fromkeys(names) if name in known]


def _cells(text: str) -> list[dict[str, Any]]:
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"a submission must be a notebook (.ipynb), got {error!r}") from None
    if not isinstance(cells, list):
        raise ValueError(f"a notebook's cells must be a list, got {type(cells).__name__}")
    return [cell for cell in cells if isinstance(cell, dict)]


def _metadata(cell: dict[str, Any]) -> dict[str, Any]:
    metadata = cell.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
