"""Keep what a chapter's cells printed, for readers who do not have the released model's file."""

import re

import nbformat

from benchmarks.recording import Row, Script
from course_utils.environment import ROOT
from course_utils.model_file import NAME, SHA256

CELL = re.compile(r"^@with_model\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)


def printed(chapter: str) -> list[Row]:
    """Return the text that each cell with `@with_model` printed, in the notebook's order."""
    (path,) = (ROOT / "solutions").glob(f"{chapter}_*.ipynb")
    rows = []
    for cell in nbformat.read(path, as_version=4).cells:
        if found := CELL.search(cell.source):
            texts = [one.text for one in cell.outputs if one.output_type == "stream"]
            rows.append({"cell": found[1], "printed": "".join(texts).rstrip("\n")})
    return rows


def keep(script: Script, chapter: str) -> None:
    """Write the record of a chapter."""
    script.record(
        what=f"text that the cells of chapter {chapter} print with the released model",
        settings={"file": NAME, "sha256": SHA256},
        runs=printed(chapter),
    )
