"""`python -m course_utils doctor`: what the course needs, what is there, how to mend the rest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

from course_utils.doctor import for_builders, for_learners, is_active
from course_utils.environment import ROOT, venv_python


def report(title: str, findings: Iterator[tuple[str, str, str, str]]) -> int:
    """Print one part of the report, each remedy once; return how much is to be mended."""
    print(title)
    mends: list[str] = []
    for name, status, detail, mend in findings:
        print(f"  {status:<12}{name:<26}{detail}".rstrip())
        if status != "there":
            print(*[f"  {'':<12}to mend it: {mend}\n"] * (mend not in mends), end="")
            mends.append(mend)
    print()
    return len(mends)


def main() -> int:
    """Run from the command line; outside an environment the one in `.venv` is examined."""
    if sys.argv[1:] != ["doctor"]:
        sys.exit(__doc__)
    if not is_active():
        with suppress(OSError):  # it is not there, or does not start
            inside = [str(venv_python(ROOT / ".venv")), "-m", "course_utils", "doctor"]
            return subprocess.run(inside, cwd=ROOT).returncode
    wrong = report("To take the course", for_learners())
    report("Only to test, build or change it", for_builders())
    well = "All that a learner needs is there. To start: make learn"
    print(f"{wrong} to mend, as said above." if wrong else well)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
