"""Every page in light, dark and at phone width: nothing asked of others, nothing broken."""

from collections.abc import Callable
from pathlib import Path

import pytest
from site_support import MODES, ROOT, Visit, pages

PAGES = pages()
FOR_INSTRUCTORS = [name for name in pages("instructor") if name not in PAGES]
# What somebody would look for who wants this chapter.
TERMS = {
    "00_start_here": "hint",
    "01_bottleneck": "bottleneck",
    "02_additive_multiplicative": "additive",
    "03_scaled_dot_product": "temperature",
    "04_queries_keys_values": "projections",
    "05_multi_head": "heads",
    "06_masks": "padding",
    "07_positions": "sinusoidal",
    "08_cheaper_attention": "window",
    "09_flash_attention": "tiles",
    "10_kv_cache": "cache",
}
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
    look_at(visit(f"{address}/{name}", mode), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FOR_INSTRUCTORS)
def test_page_for_instructors(
    visit: Callable[..., Visit], instructor_address: str, name: str, mode: str
) -> None:
    look_at(visit(f"{instructor_address}/{name}", mode), mode)


def look_at(seen: Visit, mode: str) -> None:
    """Find nothing asked of others, nothing broken and nothing that axe objects to."""
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


def test_every_chapter_has_a_term_to_be_found_by() -> None:
    assert {f"notebooks/{name}.html" for name in TERMS} >= {p for p in PAGES if "notebooks/" in p}


@pytest.mark.parametrize("name", [n for n in TERMS if f"notebooks/{n}.html" in PAGES])
def test_search_finds_the_chapter(visit: Callable[..., Visit], address: str, name: str) -> None:
    seen = visit(f"{address}/search.html?q={TERMS[name]}")
    seen.page.wait_for_selector(f"#search-results a[href*='notebooks/{name}.html']")
    assert (seen.outside, seen.errors) == ([], [])


def test_search_works_from_a_folder(visit: Callable[..., Visit], site: Path) -> None:
    seen = visit(f"{site.as_uri()}/search.html?q=temperature")
    seen.page.wait_for_selector(f"#search-results a[href*='{CHAPTER}']")
    assert (seen.outside, seen.errors) == ([], [])


def test_download_is_the_learners_notebook(visit: Callable[..., Visit], address: str) -> None:
    page = visit(f"{address}/{CHAPTER}").page
    kept = ROOT / "notebooks" / "03_scaled_dot_product.ipynb"
    with page.expect_download() as below_title:
        page.get_by_role("link", name="Download the notebook").click()
    page.get_by_label("Download this page").click()
    with page.expect_download() as in_menu:
        page.locator("a.btn-download-source-button").click()
    for download in (below_title, in_menu):
        assert Path(download.value.path()).read_bytes() == kept.read_bytes()


def test_paper_is_light_and_shows_answers(visit: Callable[..., Visit], address: str) -> None:
    page = visit(f"{address}/{CHAPTER}", "dark").page
    look = """() => [document.documentElement.dataset.theme,
        document.querySelectorAll("article section > details:not(.look-up, [open])").length]"""
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
