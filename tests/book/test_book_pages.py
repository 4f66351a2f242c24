"""Every page in light, dark and at phone width: nothing asked of others, nothing broken."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.book.book_axe import AXE, RULES, RUN_AXE
from tests.book.book_support import MODES, ROOT, Visit, pages

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
    "11_transformer": "encoder",
    "12_training": "checkpointing",
    "13_reading_attention": "rollout",
    "14_vision": "patches",
    "15_theory": "hopfield",
    "16_long_context": "ulysses",
    "17_beyond_attention": "retention",
    "18_fact_check": "pareto",
    "19_released_model": "quantisation",
    "20_inside_a_model": "logit lens",
}
CHAPTER = "notebooks/03_scaled_dot_product.html"
NAMELESS = """() => [...document.querySelectorAll("article img")]
    .filter((image) => !image.alt || image.alt.includes("_images/")).map((image) => image.src)"""
SQUEEZED = """() => [...document.querySelectorAll("article img")].filter((image) => Math.abs(
    image.width * image.naturalHeight - image.height * image.naturalWidth) > 2 * image.naturalWidth
    ).map((image) => image.src)"""

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", [*PAGES, "search.html?q=temperature"])
def test_page(visit: Callable[..., Visit], address: str, name: str) -> None:
    seen = visit(f"{address}/{name}")
    if name.startswith("search"):  # the pages that it cites come one by one
        seen.page.get_by_text("Search finished").wait_for()
        seen.page.wait_for_load_state("networkidle")
    look_in_every_mode(seen)


@pytest.mark.parametrize("name", FOR_INSTRUCTORS)
def test_page_for_instructors(
    visit: Callable[..., Visit], instructor_address: str, name: str
) -> None:
    look_in_every_mode(visit(f"{instructor_address}/{name}"))


def look_in_every_mode(seen: Visit) -> None:
    """Look at an opened page in light, then in the dark, then at a phone's width.

    A page that turns is as one opened so.
    """
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach((folded) => (folded.open = true))")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for mode in MODES:
        seen.turn(mode)
        look_at(seen, mode)


def look_at(seen: Visit, mode: str) -> None:
    """Find nothing asked of others, nothing broken and nothing that axe objects to."""
    page = seen.page
    assert page.evaluate("document.documentElement.dataset.theme") == MODES[mode][1], mode
    assert page.evaluate("document.documentElement.scrollWidth") <= MODES[mode][0], mode
    assert page.evaluate(NAMELESS) == [], mode  # a cell says its figure as mystnb.image.alt
    assert page.evaluate(SQUEEZED) == [], mode
    assert "\\(" not in page.title()  # menus, tabs and search results draw no formulas
    assert page.evaluate(RUN_AXE, RULES.get(mode, {})) == [], mode
    assert (seen.outside, seen.errors) == ([], []), mode


@pytest.mark.parametrize(
    ("pale", "found"),
    [
        ("<p>Some</p><p style='color: #ccc'>Pale</p>", "color-contrast"),
        ("<pre><span class='a'>Some</span><span class='b'>Pale</span></pre>", "color-contrast"),
        ("<div style='background: #555'><p>Pale</p></div><p>Some</p>", "color-contrast"),
        ("<p>Some <a href='#'>link</a> like text</p>", "link-in-text-block"),
        ("<p>Some</p>", None),
    ],
)
def test_what_nobody_could_read_is_found(
    visit: Callable[..., Visit], address: str, pale: str, found: str | None
) -> None:
    page = visit(f"{address}/changelog.html").page
    style = "<style>.b { color: #ccc } a { color: #222; text-decoration: none }</style>"
    page.set_content(f"<html lang='en'><title>T</title>{style}<main><h1>H</h1>{pale}</main></html>")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert [said.split()[0] for said in page.evaluate(RUN_AXE, {})] == [found] * bool(found)


@pytest.mark.parametrize("name", PAGES)
def test_page_is_light(site: Path, name: str) -> None:
    assert (site / name).stat().st_size < 1_500_000


def test_build_holds_no_page_beyond_those_looked_at(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    built = {name for name in built if not name.startswith("_static/")}
    assert built == {*PAGES, "search.html", "404.html"}


@pytest.mark.parametrize("page", ["lost.html", "notebooks/lost.html"])
def test_a_lost_page_leads_to_the_front_page(
    visit: Callable[..., Visit], address: str, site: Path, page: str
) -> None:
    lost = visit(f"{address}/index.html").page
    lost.route(f"**/{page}", lambda route: route.fulfill(path=site / "404.html"))
    lost.goto(f"{address}/{page}")
    assert lost.get_by_role("link").get_attribute("href") == "/"
    lost.get_by_role("link").click()
    assert lost.url == f"{address}/"


@pytest.mark.parametrize("name", PAGES)
def test_every_page_says_in_its_head_what_it_is_about(site: Path, name: str) -> None:
    says = re.findall(r'<meta name="description"[^>]*content="([^"]*)"', (site / name).read_text())
    assert len(says) == 1
    assert len(says[0]) > 60


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
    seen = visit(f"{address}/{PAGES[0]}")
    for name in PAGES[1:4]:  # the links of every page are checked without a browser
        seen.page.locator("a.right-next").click()
        seen.page.wait_for_url(f"**/{name}")
        seen.settle()
        assert (seen.outside, seen.errors) == ([], []), name


# Every element that is seen and holds no other: where it stands and in which colours.
PICTURE = """() => {
    const found = [...document.querySelectorAll("body *:not(mjx-container *, :has(*))")];
    return found.filter((one) => one.getClientRects().length).map((one) => {
        const { x, y, width, height } = one.getBoundingClientRect();
        const { color, backgroundColor, borderTopColor, visibility } = getComputedStyle(one);
        return [one.tagName, one.className, one.tabIndex, ...[x, y, width, height].map(Math.round),
            color, backgroundColor, borderTopColor, visibility].join(" ");
    });
}"""


def test_colours_are_chosen_by_keyboard(visit: Callable[..., Visit], address: str) -> None:
    page = visit(f"{address}/{CHAPTER}").page
    menu = page.locator(".theme-switch-button").first
    menu.press("Enter")
    expect(menu).to_be_focused()
    for key in (*["ArrowDown"] * 3, "Enter"):
        page.keyboard.press(key)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize(("first", "then"), [("light", "dark"), ("dark", "phone")])
def test_page_that_turns_is_as_one_opened_so(
    visit: Callable[..., Visit], address: str, first: str, then: str
) -> None:
    turned = visit(f"{address}/{CHAPTER}", first)
    turned.turn(then)
    opened = visit(f"{address}/{CHAPTER}", then)
    assert turned.page.evaluate(PICTURE) == opened.page.evaluate(PICTURE)


def test_on_a_phone_the_toolbar_leads_on_and_nothing_lies_on_the_pictures(
    visit: Callable[..., Visit], address: str
) -> None:
    page = visit(f"{address}/{CHAPTER}", "phone").page
    page.evaluate("scrollTo(0, 4000)")
    page.evaluate("scrollTo(0, 3000)")  # the theme offers the way back to whoever turns
    expect(page.locator("#pst-back-to-top")).to_be_hidden()
    page.get_by_role("link", name="Next: Give one input three roles").click()
    page.wait_for_url("**/04_queries_keys_values.html")


def test_a_table_says_that_it_scrolls_where_it_does(
    visit: Callable[..., Visit], address: str
) -> None:
    seen = visit(f"{address}/schemes.html", "phone")
    table = seen.page.locator(".pst-scrollable-table-container").first
    says = "getComputedStyle(document.querySelector('.pst-scrollable-table-container'), '::before')"
    expect(table).to_have_class(re.compile(r"\bwide\b"))
    assert "scrolls sideways" in seen.page.evaluate(f"{says}.content")
    assert seen.page.evaluate(f"{says}.position") == "sticky"
