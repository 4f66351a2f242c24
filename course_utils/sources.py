"""The chapters' sources, scripts in the py:percent form: where they are, and what their cells are.

`tools/notebooks/source.py` reads all of a chapter, through jupytext; this needs nothing installed.
"""

import re
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).resolve().parent
# In the repository beside the package; in an installed package inside it.
FOLDERS = (_HERE.parent / "solutions", _HERE / "solutions")
HEADER = re.compile(r"^# %%+(?=\s|$)(.*)$", re.MULTILINE)
MARK = re.compile(r"^(?P<indent>\s*)### (?P<kind>BEGIN|END) SOLUTION(?P<rest>.*)$")
FURTHER = "further"  # the tag of a heading that is not on the core path
_SECTION = re.compile(r"^## ", re.MULTILINE)
_TITLE = re.compile(r"^# (\w.*?)(?=[,:]|$)", re.MULTILINE)


class Page(NamedTuple):
    """A chapter's name, which its notebooks share, and its title up to the first comma or colon."""

    name: str
    title: str


class Place(NamedTuple):
    """The cell that asks for an exercise, its chapter's name, and True if that section is further.

    A chapter's name is that of its notebooks.
    """

    cell: str
    page: str
    further: bool


def source_paths() -> list[Path]:
    """Return the chapters' sources, in the order of teaching; none where they are not there."""
    return [path for folder in FOLDERS for path in sorted(folder.glob("[0-9][0-9]_*.py"))]


def pages() -> dict[int, Page]:
    """Return each chapter's page by its number; none where the sources are not there."""
    found = {}
    for path in source_paths():
        title = _TITLE.search(path.read_text(encoding="utf-8").partition("# %%")[2])
        found[int(path.stem[:2])] = Page(path.stem, title[1] if title else path.stem)
    return found


def exercise_places() -> dict[str, Place]:
    """Return where every exercise stands, by name, in the order of teaching."""
    found: dict[str, Place] = {}
    for path in source_paths():
        further = False
        _, *parts = HEADER.split(path.read_text(encoding="utf-8"))
        for header, cell in zip(parts[::2], parts[1::2], strict=True):
            if "[markdown]" in header and _SECTION.search(cell):
                further = f'"{FURTHER}"' in header
            if named := re.search(r' exercise="(\w+)"', header):
                found.setdefault(named[1], Place(cell, path.stem, further))
    return found
