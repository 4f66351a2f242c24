"""`python -m course_utils doctor`: what the course needs, what is there, how to mend the rest."""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import zip_longest

from course_utils.doctor import Finding, better_python, builder_findings, learner_findings
from course_utils.environment import ROOT


def lines_of(title: str, findings: list[Finding]) -> list[str]:
    """Return one part of the report; what is to be mended has its remedy on a line below."""
    lines = ["", title]
    for finding, following in zip_longest(findings, findings[1:]):
        lines.append(f"  {finding.status:<12}{finding.name:<26}{finding.detail}".rstrip())
        if finding.mend and (following is None or following.mend != finding.mend):
            lines.append(f"  {'':<12}to mend it: {finding.mend}")
    return lines


def doctor() -> int:
    """Print the report; the exit status is 0 where everything is there that a learner needs."""
    learner, builder = learner_findings(), builder_findings()
    wrong = sum(not finding.well for finding in learner)
    last = (
        f"{wrong} to mend, as said above."
        if wrong
        else "All that a learner needs is there. To start: make learn"
    )
    report = [
        *lines_of("To take the course", learner),
        *(lines_of("Only to test, build or change it", builder) if builder else []),
        "",
        last,
    ]
    print("\n".join(report[1:]))
    return 1 if wrong else 0


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m course_utils", description=__doc__)
    parser.add_argument("command", choices=["doctor"])
    parser.parse_args(arguments)
    inside = better_python()
    if inside is not None:
        return subprocess.run([inside, "-m", "course_utils", "doctor"], cwd=ROOT).returncode
    return doctor()


if __name__ == "__main__":
    sys.exit(main())
