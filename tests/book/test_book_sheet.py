"""The sheet of shapes and formulas is one page, by a reader's own print and in the book."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from book_support import Visit
from pypdf import PdfReader

from book.pdf import MARGIN, PAPER, READY


@pytest.mark.browser
@pytest.mark.parametrize("paper", [{"format": "A4"}, {**PAPER, "margin": MARGIN}])
def test_the_sheet_is_one_page(
    visit: Callable[..., Visit], address: str, paper: dict[str, Any]
) -> None:
    page = visit(f"{address}/sheet.html").page
    page.evaluate(READY)
    (sheet,) = PdfReader(io.BytesIO(page.pdf(**paper))).pages
    assert "Shapes and formulas" in sheet.extract_text()
    assert "Generating (10)" in sheet.extract_text()
