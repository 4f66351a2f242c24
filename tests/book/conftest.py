"""The site, built once and served here alone, and pages whose every request is seen."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Request

from book.contents import SITES
from tests.book.book_support import FORGET, ROOT, UNFOLD, Visit, build


def _built(edition: str) -> Path:
    """Build an edition; where another worker has done so, its build finds nothing to do."""
    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "book.lock"):
        done = build(ROOT, "--edition", edition)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "_build" / SITES[edition]


@pytest.fixture(scope="session")
def site() -> Path:
    """The learner's edition."""
    return _built("learner")


@pytest.fixture(scope="session")
def instructor_site() -> Path:
    """The instructor's edition."""
    return _built("instructor")


@pytest.fixture(scope="session")
def address(site: Path, serve: Callable[[Path], str]) -> str:
    """The address of the site."""
    return serve(site)


@pytest.fixture(scope="session")
def instructor_address(instructor_site: Path, serve: Callable[[Path], str]) -> str:
    """The address of the instructor's edition."""
    return serve(instructor_site)


@pytest.fixture
def own(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has read nothing yet."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def visit(context: BrowserContext) -> Iterator[Callable[..., Visit]]:
    """Return a function that opens an address in a mode and sees what it asks of other hosts.

    It opens sections that the page folds, unless it is told not to.
    """
    pages = []

    def open_page(url: str, mode: str = "light", unfold: bool = True) -> Visit:
        page = context.new_page()
        page.add_init_script(FORGET)  # what another test opened by hand
        pages.append(page)
        seen = Visit(page)
        own = "file://" if url.startswith("file:") else url[: url.index("/", 8) + 1]

        def watch(request: Request) -> None:
            if not request.url.startswith((own, "blob:", "data:")):
                seen.outside.append(request.url)

        page.on("request", watch)
        page.on("console", lambda said: said.type == "error" and seen.errors.append(said.text))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.dress(mode)
        page.goto(url, wait_until="load")
        if unfold:
            page.evaluate(UNFOLD)
        seen.settle()
        return seen

    yield open_page
    for page in pages:
        page.close()
