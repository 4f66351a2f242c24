"""Print, for every exercise, each mistake and the verdict on it: the proof of the checkers.

python -m tools.mutation.misconceptions            the table; exit status 1 if one is not itself
python -m tools.mutation.misconceptions NAME ...   some exercises only
"""

import argparse
import sys
from typing import NamedTuple

from course_utils.checking.judge import judge
from course_utils.exercises import find
from tools.mutation.each_exercise import each_exercise, named

LINE = "{:32} {:56} {:>8} {:>6} {:>9}  {}"


class Row(NamedTuple):
    """One mistake and what became of its executable versions."""

    exercise: str
    mistake: str
    versions: int
    caught: int
    as_itself: int
    verdicts: str


def judged(name: str) -> tuple[list[Row], str]:
    """Judge every version of every mistake of an exercise, and say what its reference fails."""
    exercise, rows = find(name), []
    for mistake in exercise.mistakes:
        reports = [judge(exercise, version) for version in exercise.versions(mistake)]
        caught = sum(not report.passed for report in reports)
        as_itself = sum(report.misconceptions == (mistake.name,) for report in reports)
        verdicts = sorted({" and ".join(r.misconceptions) or r.status for r in reports})
        rows.append(Row(name, mistake.name, len(reports), caught, as_itself, ", ".join(verdicts)))
    own = judge(exercise, exercise.reference)
    return rows, "" if own.passed else str(own)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="exercises; all if none is named")
    names = [exercise.name for exercise in named(parser, parser.parse_args().names)]
    found: list[Row] = []
    failed = []
    print(LINE.format("exercise", "mistake", "versions", "caught", "as itself", "verdict"))
    for rows, trouble in each_exercise(judged, names):
        found += rows
        failed += [trouble] if trouble else []
        print(*(LINE.format(*row) for row in rows), sep="\n", flush=True)
    versions = sum(row.versions for row in found)
    caught = sum(row.caught for row in found)
    as_itself = sum(row.as_itself for row in found)
    print(
        f"\n{len(names)} exercises, {len(found)} mistakes in {versions} versions: "
        f"{caught} caught, {as_itself} as themselves."
    )
    if failed:
        print("The reference itself fails.", *failed, sep="\n", file=sys.stderr)
    return 0 if as_itself == versions and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
