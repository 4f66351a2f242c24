"""Drive the site and JupyterLab in three engines, and write into book/tested.md what passed.

    python -m tests.engines.engine_table

Chromium's tests are those of `make test`; the others are `make repeat`'s.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from course_utils.environment import find_chromium
from tests.engines.engine_drivers import firefox, webkit
from tools.time_tests import PAGE, ROOT, block

BLOCK = block("engines")
ENGINES = ("chromium", "firefox", "webkit")
ROWS = {
    "each widget on a page of its own": [
        "widgets/test_drives.py",
        "engines/test_engine_widgets.py",
    ],
    "the widgets of each chapter": [
        "book/test_book_drives.py::test_every_widget_of_a_chapter_shows_what_python_says",
        "engines/test_engine_site.py",
    ],
    "search, dark mode, and what unfolds": [
        "book/test_book_pages.py::test_search_finds_the_chapter",
        "book/test_book_pages.py::test_search_works_from_a_folder",
        "book/test_book_pages.py::test_colours_are_chosen_by_keyboard",
        "book/test_book_pages.py::test_page_that_turns_is_as_one_opened_so",
        "book/test_book_further.py::test_mouse_and_keys_open_and_fold",
        "book/test_book_guesses.py::test_a_guess_uncovers_what_was_measured_and_is_kept",
        "engines/test_engine_pages.py",
    ],
    "chapters in JupyterLab": ["widgets/test_jupyterlab.py", "engines/test_engine_lab.py"],
}
BY_HAND = 2  # rows in which each test is driven by one hand
Cell = tuple[str, str]  # what is tested, and in which engine


def counted(report: Path) -> tuple[Counter[Cell], Counter[Cell]]:
    """Return how many tests of each cell passed, and how many there are."""
    passed, tests = Counter[Cell](), Counter[Cell]()
    row_of = {path.split("/")[1].split(".")[0]: row for row in ROWS for path in ROWS[row]}
    for case in ElementTree.parse(report).iter("testcase"):
        *_, module = case.attrib["classname"].split(".")
        row, words = row_of[module], re.split(r"[\[\]-]", case.attrib["name"])
        if row in list(ROWS)[:BY_HAND]:
            row += f", by {'mouse' if 'mouse' in words else 'keys'}"
        default = "firefox" if module == "test_engine_lab" else "chromium"
        cell = (row, next((one for one in ENGINES if one in words), default))
        tests[cell] += 1
        passed[cell] += all(case.find(one) is None for one in ("failure", "error", "skipped"))
    return passed, tests


def table(passed: Counter[Cell], tests: Counter[Cell], versions: list[str]) -> str:
    """Return the table as Markdown."""

    def shown(row: str, engine: str) -> str:
        cell = (row, engine)
        return f"{passed[cell]} of {tests[cell]}" if tests[cell] else "not tried"

    lines = [f"| tests that pass, {date.today()} | {' | '.join(versions)} |", "|---|---|---|---|"]
    for row in sorted({row for row, _ in tests}):
        lines.append(f"| {row} | {' | '.join(shown(row, one) for one in ENGINES)} |")
    return "\n".join([*lines, ""])


def versions() -> list[str]:
    """Return the engines' names and versions."""
    said = subprocess.run([find_chromium() or "", "--version"], stdout=subprocess.PIPE, check=True)
    found = [" ".join(said.stdout.decode().split()[:2])]
    for name, driver in {"Firefox": firefox, "WebKitGTK": webkit}.items():
        with tempfile.TemporaryDirectory() as folder, driver(Path(folder), False) as (version, _):
            found.append(f"{name} {version}")
    return found


def main() -> int:
    """Run from the command line; the exit status is pytest's."""
    paths = [f"tests/{path}" for of_row in ROWS.values() for path in of_row]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        run = [sys.executable, "-m", "pytest", "-p", "no:nbval", "-n", "2", "--dist", "worksteal"]
        status = subprocess.run([*run, f"--junitxml={report}", *paths], cwd=ROOT).returncode
        text = table(*counted(report), versions())
    PAGE.write_text(BLOCK.sub(lambda _: text, PAGE.read_text("utf-8")), encoding="utf-8")
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
