"""Print, for every exercise, each misconception and the verdict on it: the proof of the checkers.

python tools/mutants.py              the table, and exit status 1 if one is not caught as itself
python tools/mutants.py --json       the same for programs, a line each; site/mistakes.py reads it
python tools/mutants.py NAME ...     some exercises only
"""

import argparse
import json
import sys
from dataclasses import astuple, dataclass

from course_utils.checking.exercise import Exercise
from course_utils.checking.judge import judge
from course_utils.exercises import all_exercises, find


@dataclass(frozen=True)
class Row:
    """One misconception and what became of its executable versions."""

    exercise: str
    misconception: str
    versions: int
    caught: int
    named: int
    verdicts: str


def rows(exercise: Exercise) -> list[Row]:
    """Judge every version of every misconception of an exercise."""
    found = []
    for mistake in exercise.misconceptions:
        reports = [judge(exercise, version) for version in mistake.versions]
        found.append(
            Row(
                exercise.name,
                mistake.name,
                len(reports),
                sum(not report.passed for report in reports),
                sum(report.misconception == mistake.name for report in reports),
                ", ".join(sorted({r.misconception or r.status for r in reports})),
            )
        )
    return found


def table(found: list[Row]) -> str:
    """Lay the rows out as text."""
    head = ("exercise", "misconception", "versions", "caught", "as itself", "verdict")
    body = [
        (r.exercise, r.misconception, str(r.versions), str(r.caught), str(r.named), r.verdicts)
        for r in found
    ]
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    lines = [head, *body]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="exercises; all if none is named")
    parser.add_argument("--json", action="store_true", help="print each row as a JSON list")
    options = parser.parse_args()
    try:
        chosen = [find(name) for name in options.names] or list(all_exercises())
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    if options.json:
        for exercise in chosen:
            for row in rows(exercise):
                print(json.dumps(astuple(row), ensure_ascii=False), flush=True)
        return 0
    found = [row for exercise in chosen for row in rows(exercise)]
    print(table(found))
    versions = sum(row.versions for row in found)
    named = sum(row.named for row in found)
    caught = sum(row.caught for row in found)
    passed = [e.name for e in chosen if not judge(e, e.reference).passed]
    print(
        f"\n{len(chosen)} exercises, {len(found)} misconceptions in {versions} versions: "
        f"{caught} caught, {named} as themselves."
    )
    if passed:
        print(f"The reference itself fails: {', '.join(passed)}", file=sys.stderr)
    return 0 if named == versions and not passed else 1


if __name__ == "__main__":
    sys.exit(main())
