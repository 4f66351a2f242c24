"""The site in engines other than Chromium's: widgets, search, dark mode, and what unfolds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.book.book_support import UNFOLD, WIDGETS_STAND
from tests.book.test_book_drives import CHAPTERS, drive_all, kept
from tests.book.test_book_pages import CHAPTER, PAGES, TERMS
from tests.engines.engine_page import Page

pytestmark = pytest.mark.exhaustive
GUESS = '[data-guess="03.parameters"]'
THEME = "[document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]"
LIGHT, DARK = ["light", "rgb(255, 255, 255)"], ["dark", "rgb(20, 24, 30)"]


@pytest.mark.parametrize("hand", ["mouse", "keys"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_widget_of_a_chapter_shows_what_python_says(
    opened: Callable[..., Page], address: str, site: Path, name: str, hand: str
) -> None:
    """By http with the mouse, from the folder with the keyboard."""
    page = opened(f"{address if hand == 'mouse' else site.as_uri()}/{name}")
    page.evaluate(UNFOLD)
    page.wait_for_function(WIDGETS_STAND)
    drive_all(page, kept(site / name), hand)
