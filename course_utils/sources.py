"""The chapters' sources, scripts in the py:percent form: where they are, and what their cells are.

`tools/notebooks/source.py` reads all of a chapter, through jupytext; this needs nothing installed.
"""

import re
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# In the repository beside the package; in an installed package inside it.
FOLDERS = (_HERE.parent / "solutions", _HERE / "solutions")
HEADER = re.compile(r"^# %%+(?=\s|$)(.*)$", re.MULTILINE)
MARK = re.compile(r"^(?P<indent>\s*)### (?P<kind>BEGIN|END) SOLUTION(?P<rest>.*)$")


def source_paths() -> list[Path]:
    """Return the chapters' sources, in the order of teaching; none where they are not there."""
    return [path for folder in FOLDERS for path in sorted(folder.glob("[0-9][0-9]_*.py"))]


def exercise_cells() -> dict[str, str]:
    """Return the cell of every exercise by name, in the order of teaching."""
    found: dict[str, str] = {}
    for path in source_paths():
        _, *parts = HEADER.split(path.read_text(encoding="utf-8"))
        for header, cell in zip(parts[::2], parts[1::2], strict=True):
            if named := re.search(r' exercise="(\w+)"', header):
                found.setdefault(named[1], cell)
    return found
