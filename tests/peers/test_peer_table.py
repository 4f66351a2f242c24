"""The page "Tested against whom" says what these tests do, and leaves nothing public unsaid."""

import ast
import importlib
import importlib.metadata
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from peer_table import PAGE, Row, left_out, rows
from peer_watch import Seen

TEXT = PAGE.read_text(encoding="utf-8")
TABLE = list(rows(TEXT))
TESTS = Path(__file__).resolve().parent.parent
FILES = {path.name: path for path in TESTS.rglob("test_*.py")}
PACKAGES = ("attention", "positions", "models", "measure")


def functions_of(path: Path) -> set[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    named = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    return {name for name in named if name.startswith("test_")}


def imported_by(path: Path) -> set[str]:
    """Return what a file imports from the course's package."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return {
        alias.name
        for node in found
        if (node.module or "").startswith("course_utils")
        for alias in node.names
    }


def test_every_line_of_the_table_is_read() -> None:
    assert len(TABLE) == sum(line.startswith("|") for line in TEXT.splitlines()) - 2
    assert [row.chapter for row in TABLE] == sorted(row.chapter for row in TABLE)
    counts = re.findall(r"<summary>(\d+) tests?</summary>", TEXT)
    assert counts == [str(len(row.tests)) for row in TABLE]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.tests[0][1])
def test_a_row_names_tests_that_are_there_and_use_what_it_is_about(row) -> None:
    assert row.tests
    for file, name in row.tests:
        assert name in functions_of(FILES[file])
        assert set(row.names) <= imported_by(FILES[file])


def test_every_test_beside_a_peer_has_one_row() -> None:
    peers = TESTS / "peers"
    here = {path.name: functions_of(path) for path in peers.glob("test_*_peers.py")}
    there = Counter(test for row in TABLE for test in row.tests)
    assert {(file, name) for file, names in here.items() for name in names} <= there.keys()
    assert set(there.values()) == {1}
    assert {path.name for path in peers.glob("test_*.py")} == {*here, Path(__file__).name}


def test_every_public_name_has_a_row_or_stands_below_with_the_reason() -> None:
    public = {
        name
        for package in PACKAGES
        for name in importlib.import_module(f"course_utils.{package}").__all__
    }
    compared, below = {name for row in TABLE for name in row.names}, left_out(TEXT)
    assert public <= compared | set(below)
    assert set(below) <= public - compared
    assert len(below) == len(set(below))


def test_the_versions_are_the_installed_ones() -> None:
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
    assert f"PyTorch {versions['torch'].partition('+')[0]} " in TEXT.replace("\n", " ")
    assert f"transformers {versions['transformers']}," in TEXT.replace("\n", " ")


def compare(dtype: torch.dtype = torch.float64, **room: float) -> None:
    x = torch.ones(2, dtype=dtype)
    torch.testing.assert_close({"given": (x, [x])}, {"given": (x, [x])}, **room)


@pytest.mark.parametrize(
    ("does", "compared", "tolerance", "complaint"),
    [
        (compare, "outputs", "float64 1e-7", None),
        (compare, "outputs", "float64 1e-3", "the test compares float64 1e-7"),
        (lambda: compare(torch.float32), "outputs", "float64 1e-7", "compares float32 1.3e-6"),
        (lambda: compare(rtol=1e-3, atol=0.0), "outputs", "float64 1e-7", "compares float64 1e-3"),
        (lambda: compare(rtol=1e-7, atol=1e-2), "outputs", "float64 1e-7", "float64 1e-2"),
        (lambda: compare(torch.int64), "tokens", "equal", None),
        (lambda: compare(rtol=0.0, atol=0.0), "tokens", "equal", None),
        (compare, "outputs, gradients", "float64 1e-7", "computes no gradients"),
    ],
)
def test_a_test_that_does_less_than_its_row_says_is_found(
    does, compared, tolerance, complaint
) -> None:
    row = Row("01", (), "", tolerance, compared, ())
    with Seen() as seen:
        does()
    if complaint is None:
        return seen.check(row)
    with pytest.raises(pytest.fail.Exception, match=complaint):
        seen.check(row)


def test_gradients_are_noticed_however_they_are_asked_for() -> None:
    for ask in (lambda x: x.sum().backward(), lambda x: torch.autograd.grad(x.sum(), x)):
        with Seen() as seen:
            ask(torch.ones(2, requires_grad=True))
        assert seen.gradients
