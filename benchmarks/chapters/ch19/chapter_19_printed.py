"""Keep what chapter 19's cells printed, for readers who do not have the model's file.

Method: nothing is run. The outputs of the cells with `@with_model` are taken from the executed
notebook, under the names of their functions:

    python -m benchmarks.chapters.ch19.chapter_19_printed
"""

import re

import nbformat

from benchmarks.recording import Row, Script
from course_utils.environment import ROOT
from course_utils.model_file import NAME, SHA256

CELL = re.compile(r"^@with_model\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)


def printed() -> list[Row]:
    """Return the text that each such cell printed, in the notebook's order."""
    (path,) = (ROOT / "solutions").glob("19_*.ipynb")
    rows = []
    for cell in nbformat.read(path, as_version=4).cells:
        if found := CELL.search(cell.source):
            texts = [one.text for one in cell.outputs if one.output_type == "stream"]
            rows.append({"cell": found[1], "printed": "".join(texts).rstrip("\n")})
    return rows


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__)
    script.record(
        what="text that the cells of chapter 19 print with the released model",
        settings={"file": NAME, "sha256": SHA256},
        runs=printed(),
    )


if __name__ == "__main__":
    main()
