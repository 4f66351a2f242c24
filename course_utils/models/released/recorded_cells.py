"""Cells that need the released model: they run where its file is, or show what was recorded."""

from collections.abc import Callable

from course_utils.measure.record import read_record
from course_utils.model_file import MISSING, ModelFileError, released_model

Cell = Callable[[], object]


def with_model(record: str) -> Callable[[Cell], None]:
    """Return a decorator that runs a cell's function at once, or prints what it once printed.

    Where the model's file is missing or damaged, one sentence says so, here, and no cell stops.

    Args:
        record: The name of the record with what the cells printed.

    Raises:
        ValueError: There is no such record.
    """
    kept = read_record(record)
    printed = {one["cell"]: one["printed"] for one in kept["runs"]}
    try:
        reason = None if released_model() else MISSING
    except ModelFileError as error:
        reason = str(error)
    if reason:
        print(f"{reason}\nUntil then, cells that need it show what they printed on {kept['date']}.")

    def run(cell: Cell) -> None:
        if reason:
            print(f"[recorded on {kept['date']}]\n{printed[cell.__name__]}")
        else:
            cell()

    return run
