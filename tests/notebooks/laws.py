"""Laws of every chapter's notebooks, checked without the builder's own code."""

import re
from collections.abc import Iterator
from typing import Any

CELL = re.compile(r"^# %%", re.MULTILINE)


def solution_lines(source: str) -> set[str]:
    """Return the lines of a source that stand only in regions or in cells tagged `solution`."""
    hidden: set[str] = set()
    open_to_all: set[str] = set()
    for cell in CELL.split(source):
        header, *lines = cell.split("\n")
        inside = '"solution"' in header
        for line in lines:
            if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
                inside = "BEGIN" in line
            else:
                (hidden if inside else open_to_all).add(line.strip())
    return hidden - open_to_all - {""}


def leaks(source: str, learner: dict[str, Any]) -> list[str]:
    """Return the lines of solutions that a learner's notebook shows."""
    hidden = solution_lines(source)
    shown = {line.strip() for cell in learner["cells"] for line in cell["source"]}
    return sorted(hidden & shown)


def unchecked(learner: dict[str, Any]) -> list[str]:
    """Return the exercises whose cell is not followed by their check."""
    cells = learner["cells"]
    names = [cell["metadata"].get("exercise") for cell in cells]
    after = ["".join(cell["source"]) for cell in cells[1:]] + [""]
    return [
        name
        for name, source in zip(names, after, strict=True)
        if name and not re.search(rf'check\("{name}", {name}\)', source)
    ]


def undescribed_figures(solved: dict[str, Any]) -> Iterator[str]:
    """Yield the first line of each cell that shows a picture without a text alternative."""
    for cell in solved["cells"]:
        pictures = [o for o in cell.get("outputs", []) if "image/png" in o.get("data", {})]
        image = cell["metadata"].get("mystnb", {}).get("image", {})
        if pictures and not image.get("alt"):
            yield cell["source"][0].strip()
