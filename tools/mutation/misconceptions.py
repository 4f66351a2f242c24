"""Print, for every exercise, each mistake and the verdict on it: the proof of the checkers.

python -m tools.mutation.misconceptions            the table; exit status 1 if one is not itself
python -m tools.mutation.misconceptions NAME ...   some exercises only
"""

import argparse
import sys
from dataclasses import dataclass

from course_utils.checking.exercise import Exercise
from course_utils.checking.judge import judge
from course_utils.exercises import all_exercises, find
from tools.mutation.each_exercise import each_exercise


@dataclass(frozen=True)
class Row:
    """One mistake and what became of its executable versions."""

    exercise: str
    mistake: str
    versions: int
    caught: int
    named: int
    verdicts: str


@dataclass(frozen=True)
class Judged:
    """What became of an exercise."""

    rows: list[Row]
    passed: bool  # the reference itself, as it must


def judged(name: str) -> Judged:
    """Judge every version of every mistake of an exercise, and its reference."""
    exercise = find(name)
    return Judged(rows(exercise), judge(exercise, exercise.reference).passed)


def rows(exercise: Exercise) -> list[Row]:
    """Judge every version of every mistake of an exercise."""
    found = []
    for mistake in exercise.mistakes:
        reports = [judge(exercise, version) for version in exercise.versions(mistake)]
        found.append(
            Row(
                exercise.name,
                mistake.name,
                len(reports),
                sum(not report.passed for report in reports),
                sum(report.misconceptions == (mistake.name,) for report in reports),
                ", ".join(sorted({" and ".join(r.misconceptions) or r.status for r in reports})),
            )
        )
    return found


def table(found: list[Row]) -> str:
    """Lay the rows out as text."""
    head = ("exercise", "mistake", "versions", "caught", "as itself", "verdict")
    body = [
        (r.exercise, r.mistake, str(r.versions), str(r.caught), str(r.named), r.verdicts)
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
    options = parser.parse_args()
    try:
        chosen = [find(name) for name in options.names] or all_exercises()
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    names = [exercise.name for exercise in chosen]
    found: list[Row] = []
    failed = []
    for name, one in zip(names, each_exercise(judged, names), strict=True):
        found += one.rows
        if not one.passed:
            failed.append(name)
    print(table(found))
    versions, caught, named = (sum(getattr(row, of) for row in found)
                               for of in ("versions", "caught", "named"))  # fmt: skip
    print(
        f"\n{len(names)} exercises, {len(found)} mistakes in {versions} versions: "
        f"{caught} caught, {named} as themselves."
    )
    if failed:
        print(f"The reference itself fails: {', '.join(failed)}", file=sys.stderr)
    return 0 if named == versions and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
