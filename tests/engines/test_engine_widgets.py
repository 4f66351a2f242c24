"""Every widget, without a kernel, in engines other than Chromium's: by mouse and by keys alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Quiet
from tests.engines.conftest import Watched
from tests.engines.engine_page import Page
from tests.widgets.widget_drives import DRIVES
from tests.widgets.widget_hands import Hand, expect_said
from tests.widgets.widget_page import static_page

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def folder_address(folder: Path, serve: Callable[[Path, type[Quiet]], str]) -> str:
    return serve(folder, Watched)


@pytest.mark.parametrize("hand", ["mouse", "keys"])
@pytest.mark.parametrize("name", DRIVES)
def test_it_shows_what_python_says(
    opened: Callable[..., Page], folder: Path, folder_address: str, name: str, hand: Hand
) -> None:
    """By http with the mouse, from the folder with the keyboard."""
    drive = DRIVES[name]
    widget = drive.make()
    (folder / "page.html").write_text(static_page([widget]), encoding="utf-8")
    page = opened(f"{folder_address if hand == 'mouse' else folder.as_uri()}/page.html")
    root = page.locator(".acw")
    for step in drive.steps(widget):
        step.take(root, hand)
    expect_said(root, drive.says(widget))
