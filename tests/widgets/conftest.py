"""Pages with widgets and no kernel, opened in a browser that hears of every fault."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.widgets.widget_page import static_page


@pytest.fixture(scope="session")
def tests_address(serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of all tests' folders, on this machine alone."""
    return serve(tmp_path_factory.getbasetemp())


@pytest.fixture
def folder_address(
    tests_address: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The address of this test's own folder."""
    return f"{tests_address}/{tmp_path.relative_to(tmp_path_factory.getbasetemp()).as_posix()}"


@pytest.fixture
def open_page(
    context: BrowserContext, tmp_path: Path, folder_address: str
) -> Iterator[Callable[..., Page]]:
    """Return a function that shows widgets; at the end nothing may have failed."""
    pages, wrong = [], []

    def show(
        widgets: list[Any], *, theme: str | None = None, width: int = 900, scheme: Any = "light",
        over: str = "http",
    ) -> Page:  # fmt: skip
        (tmp_path / "page.html").write_text(static_page(widgets, theme), encoding="utf-8")
        page = context.new_page()
        pages.append(page)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("request", lambda request: outside(request.url) and wrong.append(request.url))
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 1000})
        page.goto(f"{folder_address if over == 'http' else tmp_path.as_uri()}/page.html")
        page.wait_for_function(f"document.querySelectorAll('.acw').length === {len(widgets)}")
        return page

    def outside(url: str) -> bool:
        return not url.startswith((folder_address, tmp_path.as_uri(), "blob:", "data:"))

    yield show
    for page in pages:
        page.close()
    assert wrong == []
