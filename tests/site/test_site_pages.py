"""Every page in light, dark and at phone width: nothing asked of others, nothing broken."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from site_support import MODES, ROOT, Visit, load

book = load("book")
FILES = book.files(book.project(ROOT)["toc"])
PAGES = [str(PurePosixPath(book.page(file)).with_suffix(".html")) for file in FILES]
CHAPTER = "notebooks/03_scaled_dot_product.html"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
RUN_AXE = """async () => (await axe.run()).violations.map(
    (found) => `${found.id} (${found.impact}): ${found.nodes[0].html.slice(0, 300)}`)"""

NAMELESS = """() => [...document.querySelectorAll("article img")]
    .filter((image) => !image.alt || image.alt.includes("_images/")).map((image) => image.src)"""
SQUEEZED = """() => [...document.querySelectorAll("article img")].filter((image) => Math.abs(
    image.width * image.naturalHeight - image.height * image.naturalWidth) > 2 * image.naturalWidth
    ).map((image) => image.src)"""

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*PAGES, "search.html?q=temperature"])
def test_page(visit: Callable[..., Visit], address: str, name: str, mode: str) -> None:
    seen = visit(f"{address}/{name}", mode)
    page = seen.page
    assert page.evaluate("document.documentElement.dataset.theme") == MODES[mode][1]
    page.evaluate("document.querySelectorAll('details').forEach((folded) => (folded.open = true))")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= MODES[mode][0]
    assert page.evaluate(NAMELESS) == []  # a cell gives its figure's words as mystnb.image.alt
    assert page.evaluate(SQUEEZED) == []
    assert "\\(" not in page.title()  # menus, tabs and search results draw no formulas
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(RUN_AXE)
    if found:
        page.wait_for_timeout(1000)  # on a busy machine a colour may still be fading in
        found = page.evaluate(RUN_AXE)
    assert found == []
    assert seen.outside == []
    assert seen.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_page_is_light(site: Path, name: str) -> None:
    assert (site / name).stat().st_size < 1_500_000


def test_build_holds_no_page_beyond_those_looked_at(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {name for name in built if not name.startswith("_static/")} == {*PAGES, "search.html"}


@pytest.mark.parametrize("files", [False, True], ids=["http", "file"])
def test_search_finds_the_chapter(
    visit: Callable[..., Visit], address: str, site: Path, files: bool
) -> None:
    seen = visit(f"{site.as_uri() if files else address}/search.html?q=temperature")
    seen.page.wait_for_selector(f"#search-results a[href*='{CHAPTER}']")
    assert (seen.outside, seen.errors) == ([], [])


def test_download_is_the_learners_notebook(visit: Callable[..., Visit], address: str) -> None:
    page = visit(f"{address}/{CHAPTER}").page
    page.get_by_label("Download this page").click()
    with page.expect_download() as download:
        page.locator("a.btn-download-source-button").click()
    kept = ROOT / "notebooks" / "03_scaled_dot_product.ipynb"
    assert Path(download.value.path()).read_bytes() == kept.read_bytes()


def test_paper_is_light_and_shows_answers(visit: Callable[..., Visit], address: str) -> None:
    page = visit(f"{address}/{CHAPTER}", "dark").page
    look = """() => [document.documentElement.dataset.theme,
        document.querySelectorAll("article section > details:not([open])").length]"""
    theme, folded = page.evaluate(look)
    assert folded > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(look) == ["light", 0]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(look) == [theme, folded]


def test_reader_goes_from_page_to_page(visit: Callable[..., Visit], address: str) -> None:
    page = visit(f"{address}/{PAGES[0]}").page
    for name in PAGES[1:]:
        page.locator("a.right-next").click()
        page.wait_for_url(f"**/{name}")
