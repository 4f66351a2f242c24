"""Run everything that applies to one exercise, and stop where something is missing.

    python -m tools.check_exercise NAME

In this order, what is quick first: nothing says TODO; the lines keep to the style; every version of
every mistake is recognised as itself; the time of its verdicts is added to the record; the laws and
the tests that name it pass; every change of its reference is caught; the chapter's notebooks are
built.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from course_utils.environment import ROOT
from course_utils.exercises import find, places
from tools.notebooks.files import sources_by_number


def commands(name: str) -> list[list[str]]:
    """Return what is run, as arguments of Python."""
    exercise = find(name)
    tests = ["tests/laws", "tests/exercises", *_own(name)]
    return [
        ["-m", "ruff", "check", "."],
        ["-m", "ruff", "format", "--check", "."],
        ["-m", "tools.mutation.misconceptions", name],
        ["-m", "benchmarks.services.verdicts", "--names", name],
        ["-m", "pytest", "-q", "-p", "no:nbval", "-m", "not exhaustive and not benchmark",
         *tests, "-k", f"{name} or records_of_make_bench"],
        ["-m", "tools.mutation.run", name, "--json", "book/unlisted.json"],
        ["-m", "tools.build_notebooks", f"{exercise.chapter:02d}"],
    ]  # fmt: skip


def _own(name: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob(f"test_{name}.py")]


def unfinished(name: str) -> list[str]:
    """Return the places that still say TODO."""
    module = Path(*places()[name].split(".")).with_suffix(".py")
    source = sources_by_number(ROOT)[f"{find(name).chapter:02d}"]
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / module, source)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "TODO" in line
    ]


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name")
    name = parser.parse_args().name
    try:
        found = unfinished(name)
    except KeyError as error:
        parser.error(str(error.args[0]))
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    for command in commands(name):
        print("python", *command, flush=True)
        if status := subprocess.run([sys.executable, *command], cwd=ROOT).returncode:
            return status
    print(f"{name}: all that applies to it holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
