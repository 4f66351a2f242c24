"""The table of site/peers.md, and the hook that holds its tests to it.

`tests/conftest.py` takes the hook: a test that compares more loosely than its row says, or computes
no gradients where the row promises them, fails.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "site" / "peers.md"


@dataclass(frozen=True)
class Row:
    """One row of the table; `tests` are pairs of a file's name and a function's."""

    chapter: str
    names: tuple[str, ...]
    peer: str
    tolerance: str
    compared: str
    tests: tuple[tuple[str, str], ...]


def rows(page: str) -> Iterator[Row]:
    """Yield the rows of the page's table."""
    for line in page.splitlines():
        if re.match(r"\| \d\d \|", line):
            chapter, ours, peer, tolerance, compared, where = line.strip("| ").split(" | ")
            file, *functions = re.findall(r"`(\w+(?:\.py)?)`", where)
            tests = tuple((file, function) for function in functions)
            yield Row(chapter, _names(ours), peer, tolerance, compared, tests)


def left_out(page: str) -> tuple[str, ...]:
    """Return the names below the table, which have no peer."""
    return _names(page.partition("## What has no peer")[2])


def _names(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`(\w+)`", text))


ROWS = {test: row for row in rows(PAGE.read_text(encoding="utf-8")) for test in row.tests}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Watch the tests that the table names."""
    row = ROWS.get((item.path.name, getattr(item, "originalname", item.name)))
    if row is None:
        return (yield)
    from peer_watch import Seen  # torch, which many other tests do without

    with Seen() as seen:
        out = yield
    seen.check(row)
    return out
