"""Grade submitted notebooks from the command line, without nbgrader and without running them.

    python -m course_utils.grading submitted                  a table of points for each notebook
    python -m course_utils.grading --json one.ipynb           the verdicts, for programs
    python -m course_utils.grading submitted --results class --jobs 2
                                                              a class: results and tables in `class`
    python -m course_utils.grading report class               what the class gets wrong, as a page

Exit status: 0 when every notebook was graded, whatever its points; 1 when one could not be.
"""

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tqdm import tqdm

from course_utils.checking.report import Report
from course_utils.grading.bulk import (
    Result,
    end_with_parent,
    grade_all,
    grade_one,
    hand_ins,
    write_tables,
)
from course_utils.grading.grade import SECONDS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["report"]:
        from course_utils.grading.class_report import main as report

        return report(given[1:])
    options = _parser().parse_args(given)
    found, errors = [], []
    for place in options.notebooks:
        try:
            found += hand_ins(place)
        except OSError as error:
            errors.append(str(error))
    if options.results:
        try:
            with _executor(options) as executor:
                results = grade_all(
                    found, options.results, executor, options.exercise, options.seconds, _bar
                )
        except BrokenExecutor:
            sys.exit("A process that grades has ended. What was graded is kept: start again.")
        write_tables(results, options.results)
        points = sum(result["points"] for result in results)
        print(f"{len(results)} notebooks, {points} points: see {options.results}")
    else:
        results = []
        for one in found:
            results.append(grade_one(one, options.exercise, options.seconds))
            print(_lines(results[-1]) if options.json else _table(results[-1]), flush=True)
    errors += [f"{one['notebook']}: {one['error']}" for one in results if one["error"]]
    print(*errors, sep="\n", end="\n" if errors else "", file=sys.stderr)
    return 1 if errors else 0


def _parser() -> argparse.ArgumentParser:
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m course_utils.grading", description=first, epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("notebooks", nargs="+", type=Path, help="notebooks, or folders of them by learner")
    add("--exercise", action="append", default=[], help="only this one; may be repeated")
    add("--json", action="store_true", help="print the verdicts as JSON lines")
    add("--seconds", type=int, default=SECONDS, help="for an answer (%(default)s)")
    add("--results", type=Path, help="a folder for results and tables; a later run goes on there")
    add("--jobs", type=int, default=1, help="how many are graded at a time (%(default)s)")
    add("--dask", metavar="ADDRESS", help="let the workers of this dask scheduler grade")
    return parser


def _executor(options: argparse.Namespace) -> Executor:
    if not options.dask:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(max(1, options.jobs), spawn, initializer=end_with_parent)
    try:
        from distributed import Client
    except ImportError:
        sys.exit("--dask needs the package distributed: install the course with its extra [dask]")
    return Client(options.dask).get_executor()


def _bar(done: Iterator[Any], total: int) -> Iterable[Any]:
    return tqdm(done, total=total, unit="notebook", ncols=70, disable=None)


def _lines(result: Result) -> str:
    fields = Report.__dataclass_fields__
    reports = [{key: said.get(key) for key in fields} for said in result["reports"]]
    return "\n".join(map(json.dumps, reports))


def _table(result: Result) -> str:
    head = f"{Path(result['notebook']).name}: {result['points']} of {result['of']} points"
    rows = []
    for said in result["reports"]:
        headline = Report(said["exercise"], said["status"], "", said["misconceptions"]).headline
        points = f"{said['points']:2d} of {said['of']:2d}"
        rows.append(f"  {points}  {said['exercise']:<32}  {headline}")
    return "\n".join([head, *rows])


if __name__ == "__main__":
    sys.exit(main())
