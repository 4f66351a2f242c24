"""`python -m course_utils doctor`: what the course needs, what is there, how to mend the rest."""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import zip_longest

from course_utils.doctor import for_builders, for_learners, is_active
from course_utils.environment import ROOT, venv_python


def lines_of(title: str, findings: list[tuple[str, str, str, str]]) -> list[str]:
    """Return one part of the report; what is to be mended has its remedy on a line below."""
    lines = [title]
    for (name, status, detail, mend), following in zip_longest(findings, findings[1:]):
        lines.append(f"  {status:<12}{name:<26}{detail}".rstrip())
        if status != "there" and (following is None or following[3] != mend):
            lines.append(f"  {'':<12}to mend it: {mend}")
    return [*lines, ""]


def doctor() -> int:
    """Print the report; the exit status is 0 where everything is there that a learner needs."""
    learner, builder = list(for_learners()), list(for_builders())
    wrong = sum(status != "there" for _, status, *_ in learner)
    print("\n".join(lines_of("To take the course", learner)))
    if builder:
        print("\n".join(lines_of("Only to test, build or change it", builder)))
    well = "All that a learner needs is there. To start: make learn"
    print(f"{wrong} to mend, as said above." if wrong else well)
    return 1 if wrong else 0


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; outside an environment the one in `.venv` is examined."""
    parser = argparse.ArgumentParser(prog="python -m course_utils", description=__doc__)
    parser.add_argument("command", choices=["doctor"])
    parser.parse_args(arguments)
    if not is_active():
        try:
            inside = [str(venv_python(ROOT / ".venv")), "-m", "course_utils", "doctor"]
            return subprocess.run(inside, cwd=ROOT).returncode
        except OSError:  # it is not there, or does not start
            pass
    return doctor()


if __name__ == "__main__":
    sys.exit(main())
