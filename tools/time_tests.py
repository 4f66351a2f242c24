"""Measure where `make test` spends its time, and write it into book/tested.md.

    python -m tools.time_tests

Runs all that `make test` runs. As a pytest plugin it adds up the processor time of each folder of
tests, that of the processes which they started included; a busy machine hardly changes it.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "tested.md"


def block(mark: str) -> re.Pattern[str]:
    """Return what finds the part of the page between the two marks of this name."""
    return re.compile(rf"(?<=<!-- {mark} -->\n).*(?=<!-- /{mark} -->)", re.DOTALL)


BLOCK = block("time")
STEPS = {
    "lint, types, JavaScript, notebooks up to date": ["gates"],
    "the book": ["book"],
    "pytest itself": ["-o", "gates", "-o", "book", "test"],
}
REST = "imports, collection, the browser"  # it lives as long as its worker, for many folders
_spent: defaultdict[str, float] = defaultdict(float)


def used() -> float:
    """Return the processor seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin in the workers only, not in what their tests start."""
    if hasattr(config, "workerinput"):
        os.environ.pop("PYTEST_PLUGINS", None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Add a test's time to its folder's; the browser ends with the last one, which is left out."""
    before = used()
    result = yield
    if nextitem is not None:
        _spent[area(item.path)] += used() - before
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write down what a worker has measured; what it spent besides is the rest."""
    if hasattr(config, "workerinput") and _spent:
        rest = REST if len(_spent) > 1 else next(iter(_spent))
        _spent[rest] += used() - sum(_spent.values())
        file = Path(os.environ["TEST_TIMES"], f"{os.getpid()}.json")
        file.write_text(json.dumps(_spent), encoding="utf-8")


def area(path: Path) -> str:
    """Return the folder of a test; that of notebooks may be a copy elsewhere."""
    if path.suffix == ".ipynb":
        return f"`{path.parent.name}/*.ipynb`"
    inside = path.relative_to(ROOT).parts
    return f"`{'/'.join(inside[:2])}`" if len(inside) > 2 else "`tests/*.py`"


def measured(step: str, targets: list[str]) -> dict[str, float]:
    """Run targets of make; return processor seconds by area, what is left as those of the step."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        told = {"PYTEST_PLUGINS": "tools.time_tests", "TEST_TIMES": folder}
        subprocess.run(["make", *targets], cwd=ROOT, env={**os.environ, **told}, check=True)
        spent: defaultdict[str, float] = defaultdict(float)
        for file in Path(folder).glob("*.json"):
            for name, one in json.loads(file.read_text(encoding="utf-8")).items():
                spent[name] += one
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**spent, step: whole - sum(spent.values())}


def table(spent: dict[str, float], wall: float) -> str:
    """Return the table as Markdown, the longest first."""
    whole = sum(spent.values())
    ordered = sorted(spent.items(), key=lambda pair: -pair[1])
    rows = [f"| {name} | {one:.0f} | {one / whole:.0%} |" for name, one in ordered]
    said = f"Measured on {date.today()}: {whole / 60:.0f} minutes of processor time, "
    said += f"{wall / 60:.0f} on the clock."
    return "\n".join([said, "", "| area | processor seconds | share |", "|---|---|---|", *rows, ""])


def main() -> int:
    """Run from the command line; the exit status is that of the first step that fails."""
    start, spent = time.monotonic(), dict[str, float]()
    try:
        for step, targets in STEPS.items():
            spent |= measured(step, targets)
    except subprocess.CalledProcessError as error:
        return error.returncode
    text = table(spent, time.monotonic() - start)
    PAGE.write_text(BLOCK.sub(lambda _: text, PAGE.read_text("utf-8")), encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
