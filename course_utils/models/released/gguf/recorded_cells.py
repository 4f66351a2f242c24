"""Cells that need the released model: they run where its file is, or show what was recorded."""

from collections.abc import Callable
from pathlib import Path

from course_utils.measure.record import read_record
from course_utils.model_file import MISSING, ModelFileError, released_model

Cell = Callable[[], object]


def with_model(record: str) -> tuple[Callable[[Cell], None], Path | None]:
    """Return a decorator that runs a cell's function at once, or prints what it once printed.

    Where the model's file is missing or damaged, one sentence says so, here, and no cell stops.

    Args:
        record: The name of the record with what the cells printed.

    Returns:
        The decorator; where the model's file is, or None.

    Raises:
        ValueError: There is no such record.
    """
    kept = read_record(record)
    printed = {one["cell"]: one["printed"] for one in kept["runs"]}
    path, reason = None, MISSING
    try:
        path = released_model()
    except ModelFileError as error:
        reason = str(error)
    if path is None:
        print(f"{reason}\nUntil then, cells that need it show what they printed on {kept['date']}.")

    def run(cell: Cell) -> None:
        if path is None:
            print(f"[recorded on {kept['date']}]\n{printed[cell.__name__]}")
        else:
            cell()

    return run, path
