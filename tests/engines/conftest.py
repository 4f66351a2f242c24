"""Firefox and WebKit, started where they are installed, and pages that tell what went wrong."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path

import pytest

from course_utils.environment import find_firefox, find_webkit
from tests.book.book_support import WIDGETS_STAND
from tests.book.conftest import site as site
from tests.conftest import Quiet
from tests.engines import engine_drivers
from tests.engines.engine_page import Page

ENGINES = {
    "firefox": (find_firefox, engine_drivers.firefox),
    "webkit": (find_webkit, engine_drivers.webkit),
}
# The first script of a page that is served: it keeps whatever fails from then on.
WATCH = b"""<script>
globalThis.wrong = [];
const fails = (event) => wrong.push(`${event.message} ${event.target.outerHTML}`);
addEventListener("error", fails, true);
addEventListener("unhandledrejection", (event) => wrong.push(`${event.reason}`));
console.error = (...said) => wrong.push(said.join(" "));
</script>"""
WRONG = """() => {
    const [own] = location.href.match(/^file:|^http:..[^/]+/);
    const asked = performance.getEntriesByType("resource").map((one) => one.name);
    const is_other = (name) => !/^(blob|data):/.test(name) && !name.startsWith(own);
    return [...globalThis.wrong ?? [], ...asked.filter(is_other)];
}"""


class Watched(Quiet):
    """Serves files, and pages with the script that keeps what fails."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.suffix != ".html":
            return super().do_GET()
        page = path.read_bytes().replace(b"<head>", b"<head>" + WATCH, 1)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Page]]:
    """Return a function that gives the page of an engine on a light or dark desktop."""
    with ExitStack() as running:

        @functools.cache
        def page(name: str, dark: bool = False) -> Page:
            find, driver = ENGINES[name]
            if not find():
                missing = pytest.fail if os.environ.get("CI") else pytest.skip
                missing(f"{name} is not installed: nothing was seen in it")
            folder = tmp_path_factory.mktemp(name)
            _, send = running.enter_context(driver(folder, dark))
            started = Page(send)
            started.set_viewport_size({"width": 1280, "height": 900})
            return started

        yield page


@pytest.fixture(params=ENGINES)
def opened(
    request: pytest.FixtureRequest, start: Callable[..., Page]
) -> Iterator[Callable[..., Page]]:
    """Return a function that opens an address as on a first visit; then nothing may have failed."""
    shown = []

    def show(url: str, dark: bool = False) -> Page:
        page = start(request.param, dark)
        page.goto(url)
        page.wait_for_function(WIDGETS_STAND)
        shown.append(page)
        return page

    yield show
    for page in shown:
        page.evaluate("() => { try { localStorage.clear() } catch {} }")
        assert page.evaluate(WRONG) == []


@pytest.fixture(scope="session")
def address(site: Path, serve: Callable[..., str]) -> str:
    """The address of the learner's edition."""
    return serve(site, Watched)
