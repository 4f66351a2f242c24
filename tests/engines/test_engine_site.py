"""The widgets of the site's chapters in engines other than Chromium's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.book.book_support import UNFOLD
from tests.book.test_book_drives import CHAPTERS, drive_all, kept
from tests.engines.engine_page import Page

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("hand", ["mouse", "keys"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_widget_of_a_chapter_shows_what_python_says(
    opened: Callable[..., Page], address: str, site: Path, name: str, hand: str
) -> None:
    """By http with the mouse, from the folder with the keyboard."""
    page = opened(f"{address if hand == 'mouse' else site.as_uri()}/{name}")
    page.evaluate(UNFOLD)
    drive_all(page, kept(site / name), hand)
