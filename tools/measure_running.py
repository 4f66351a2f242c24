"""Measure how long each chapter runs, for the times that the site shows.

    python -m tools.measure_running          every chapter
    python -m tools.measure_running 03 05    some chapters only

Executes the solutions notebooks as `build_notebooks` does, keeps none of their outputs, and writes
processor seconds to `book/running.json`, on Linux with those of all processes that a chapter
starts. Processor seconds are much the same on an idle machine and on a busy one; the time on the
clock is not.

Exit status: 0 when all were measured, 1 when a cell failed.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tools.build_notebooks import exercise_data
from tools.notebooks.files import find_sources
from tools.notebooks.made import solution_notebook
from tools.notebooks.run import NotebookError, execute
from tools.notebooks.source import read_chapter, with_data
from tools.orphans import adopt_orphans

_ROOT = Path(__file__).resolve().parents[1]
RECORD = _ROOT / "book" / "running.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_running", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("chapters", nargs="*", help="numbers, as 03; none means all")
    chosen = parser.parse_args(argv).chapters
    sources = [p for p in find_sources(_ROOT) if not chosen or p.stem[:2] in chosen]
    if not sources:
        parser.error(f"no chapter has one of the numbers {', '.join(chosen)}")
    for source in sources:
        try:
            measured = _record() | {source.stem: round(seconds(source))}
        except NotebookError as error:
            print(error, file=sys.stderr)
            return 1
        RECORD.write_text(json.dumps(dict(sorted(measured.items())), indent=1) + "\n")
        print(f"{source.stem}: {measured[source.stem]} processor seconds", flush=True)
    return 0


def seconds(source: Path) -> float:
    """Return how many processor seconds a chapter takes, from its kernel's start to its end."""
    adopt_orphans()
    chapter = with_data(read_chapter(source), exercise_data)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    execute(solution_notebook(chapter), chapter, _ROOT / "solutions", timeout=600)
    _await_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _await_orphans(within: float = 10.0) -> None:
    """Wait until they have ended: only then is their time counted."""
    end = time.monotonic() + within
    with suppress(ChildProcessError):  # there are none left
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)


def _record() -> dict[str, int]:
    if not RECORD.is_file():
        return {}
    return json.loads(RECORD.read_text(encoding="utf-8"))


if __name__ == "__main__":
    raise SystemExit(main())
