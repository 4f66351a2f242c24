"""The site, built once and served here alone, and pages whose every request is seen."""

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Route
from site_support import MODES, ROOT, Visit, build


def _built(edition: str, folder: str) -> Path:
    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "site.lock"):
        done = build(ROOT, "--edition", edition)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "_build" / folder


@pytest.fixture(scope="session")
def site() -> Path:
    """The learner's edition."""
    return _built("learner", "html")


@pytest.fixture(scope="session")
def instructor_site() -> Path:
    """The instructor's edition."""
    return _built("instructor", "html-instructor")


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    yield from served(site)


@pytest.fixture(scope="session")
def instructor_address(instructor_site: Path) -> Iterator[str]:
    """Where the instructor's edition is served."""
    yield from served(instructor_site)


def served(site: Path) -> Iterator[str]:
    """Serve a folder on a port of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Return a function that opens an address in a mode and lets it reach its own host only."""
    contexts = []

    def open_page(url: str, mode: str = "light") -> Visit:
        width, scheme = MODES[mode]
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(10_000)
        contexts.append(context)
        seen = Visit(context.new_page())
        own = "file://" if url.startswith("file:") else url[: url.index("/", 8) + 1]

        def watch(route: Route) -> None:
            if route.request.url.startswith((own, "blob:", "data:")):
                route.continue_()
            else:
                seen.outside.append(route.request.url)
                route.abort()

        seen.page.route("**/*", watch)
        seen.page.on("console", lambda said: said.type == "error" and seen.errors.append(said.text))
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.goto(url, wait_until="load")
        seen.settle()
        return seen

    yield open_page
    for context in contexts:
        context.close()
