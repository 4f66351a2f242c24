"""The sheet of formulas and the table of schemes are one page each, printed and in the book."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from pypdf import PdfReader

from book.pdf import MARGIN, PAPER, READY
from tests.book.book_support import Visit


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("sheet", ("Shapes and formulas", "Generating (10)")),
        ("schemes", ("What each scheme keeps", "reading decides how long a step takes")),
    ],
)
@pytest.mark.parametrize("paper", [{"format": "A4"}, {**PAPER, "margin": MARGIN}])
def test_it_is_one_page(
    visit: Callable[..., Visit],
    address: str,
    name: str,
    holds: tuple[str, ...],
    paper: dict[str, Any],
) -> None:
    page = visit(f"{address}/{name}.html").page
    page.evaluate(READY)
    (sheet,) = PdfReader(io.BytesIO(page.pdf(**paper))).pages
    text = " ".join(sheet.extract_text().split())
    assert all(words in text for words in holds)
