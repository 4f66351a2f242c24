"""Pages with widgets and no kernel, opened in a browser that hears of every fault."""

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from widget_page import static_page


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def folder_address(tmp_path: Path) -> Iterator[str]:
    """Where this test's own folder is served, on this machine alone."""
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def open_page(
    browser: Browser, tmp_path: Path, folder_address: str
) -> Iterator[Callable[..., Page]]:
    """Return a function that shows widgets; at the end nothing may have failed."""
    contexts, wrong = [], []

    def show(
        widgets: list[Any], *, theme: str | None = None, width: int = 900, scheme: Any = "light",
        over: str = "http",
    ) -> Page:  # fmt: skip
        (tmp_path / "page.html").write_text(static_page(widgets, theme), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 1000}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("request", lambda request: outside(request.url) and wrong.append(request.url))
        page.goto(f"{folder_address if over == 'http' else tmp_path.as_uri()}/page.html")
        page.wait_for_function(f"document.querySelectorAll('.acw').length === {len(widgets)}")
        return page

    def outside(url: str) -> bool:
        return not url.startswith((folder_address, tmp_path.as_uri(), "blob:", "data:"))

    yield show
    for context in contexts:
        context.close()
    assert wrong == []
