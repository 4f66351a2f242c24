"""Read what the scripts in `benchmarks/` recorded: numbers that take too long for a notebook."""

import json
from pathlib import Path
from typing import Any

from course_utils.validation import check_instance

RESULTS = Path(__file__).resolve().parents[1] / "records"


def read_record(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Return a recorded measurement with its date, versions, seeds and command.

    Args:
        name: The record's name, without `.json`.
        folder: Where the records are.

    Raises:
        ValueError: There is no record of that name.
    """
    check_instance(str, name=name)
    check_instance(Path, folder=folder)
    path = folder / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in folder.glob("*.json"))) or "none"
        raise ValueError(f"name must be one of the records ({known}), got {name!r}")
    return json.loads(path.read_text(encoding="utf-8"))
