"""Cells that need the released model: they run where its file is, or show what was recorded."""

import ctypes
import platform
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
    _return_what_cells_free()
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


def _return_what_cells_free() -> None:
    """Have a notebook give back what each cell has freed, most of which glibc would keep."""
    from IPython.core.getipython import get_ipython  # imported here: it takes a while

    if platform.libc_ver()[0] == "glibc" and (shell := get_ipython()):
        shell.events.register("post_run_cell", _trim)


def _trim(_: object) -> None:
    ctypes.CDLL(None).malloc_trim(0)
