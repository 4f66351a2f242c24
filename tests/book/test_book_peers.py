"""The page "Tested against whom" leaves nothing public unsaid, and its tests do what they say."""

import ast
import importlib
from pathlib import Path

import pytest
import torch

from book import peers
from tests.book.book_support import ROOT
from tests.peer_table import Row
from tests.peer_watch import Seen

TEXT = (ROOT / "book" / "peers.md").read_text(encoding="utf-8")
TESTS = ROOT / "tests"
MARKS = [(Row(*said), file, name) for said, file, name in peers.marks(TESTS)]
PACKAGES = ("attention", "positions", "models", "measure", "interpretability", "distributed")


def imported_by(path: Path) -> set[str]:
    """Return what a file, with the helpers of the tests, imports from the course's package."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = set[str]()
    for node in (node for node in nodes if isinstance(node, ast.ImportFrom)):
        helper = ROOT.joinpath(*(node.module or "").split(".")).with_suffix(".py")
        if (node.module or "").startswith("course_utils"):
            names |= {alias.name for alias in node.names}
        elif TESTS in helper.parents and helper.is_file() and not helper.name.startswith("test_"):
            names |= imported_by(helper)
    return names


@pytest.mark.parametrize(("row", "file", "name"), MARKS, ids=[name for *_, name in MARKS])
def test_a_test_uses_what_its_mark_is_about(row: Row, file: str, name: str) -> None:
    assert row.names
    assert set(row.names) <= imported_by(TESTS / file)


def test_every_test_among_the_peers_is_marked() -> None:
    marked = {(file, name) for _, file, name in MARKS}
    for path in (TESTS / "peers").glob("test_*_peers.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
        tests = {name for name in names if name.startswith("test_")}
        assert {(f"peers/{path.name}", name) for name in tests} <= marked


def test_every_public_name_has_a_peer_or_stands_below_with_the_reason() -> None:
    public = {
        name
        for package in PACKAGES
        for name in importlib.import_module(f"course_utils.{package}").__all__
    }
    compared = {name for row, *_ in MARKS for name in row.names}
    below = peers.without_peer(TEXT)
    assert public <= compared | below
    assert below <= public - compared


def test_the_page_has_a_row_for_each_peer() -> None:
    page = peers.markdown()
    assert page.count("<tr>") == 1 + len({row for row, *_ in MARKS})
    assert all(f"<code>{name}</code>" in page for *_, name in MARKS)


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
    row = Row("01", "", "", tolerance, compared)
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
