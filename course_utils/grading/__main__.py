"""Grade submitted notebooks from the command line, without nbgrader and without running them.

    python -m course_utils.grading submitted/*.ipynb          a table of points for each notebook
    python -m course_utils.grading --json one.ipynb           the verdicts, for programs

Exit status: 0 when every notebook was graded, whatever its points; 1 when one could not be read.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from course_utils.checking.report import Report
from course_utils.exercises import find
from course_utils.grading.grade import SECONDS, grade
from course_utils.grading.notebook import asked, code_cells


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m course_utils.grading", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("notebooks", nargs="+", type=Path, help="submitted notebooks")
    parser.add_argument("--exercise", action="append", help="only this one; may be repeated")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON lines")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for an answer (%(default)s)")
    options = parser.parse_args(argv)
    unread = 0
    for path in options.notebooks:
        try:
            text = path.read_text(encoding="utf-8")
            cells, names = code_cells(text), options.exercise or asked(text)
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            unread += 1
            continue
        reports = [grade(name, cells, options.seconds) for name in names]
        print(_lines(reports) if options.json else _table(path, reports), flush=True)
    return 1 if unread else 0


def _lines(reports: Sequence[Report]) -> str:
    return "\n".join(json.dumps(asdict(report)) for report in reports)


def _table(path: Path, reports: Sequence[Report]) -> str:
    rows = []
    for report in reports:
        points = find(report.exercise).points
        got = points if report.passed else 0
        rows.append(f"  {got:2d} of {points:2d}  {report.exercise:<32}  {report.headline}")
    total = sum(find(report.exercise).points for report in reports)
    got = sum(find(report.exercise).points for report in reports if report.passed)
    return "\n".join([f"{path.name}: {got} of {total} points", *rows])


if __name__ == "__main__":
    sys.exit(main())
