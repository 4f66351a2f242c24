"""Sections that are not on a chapter's core path are folded, and open when somebody wants them.

A page of the site is served with two of its sections marked as further, whatever its source says.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from tests.book.book_axe import AXE, RUN_AXE
from tests.book.book_support import MODES, Visit

PAGE = "notebooks/03_scaled_dot_product.html"
IDS = ("a-softmax-that-survives", "what-the-softmax-lets-through")

pytestmark = pytest.mark.browser


def mark(route: Route) -> None:
    """Send a page with the two sections marked, and no other."""
    answer = route.fetch()
    text = answer.text().replace('<section class="further"', "<section")
    for name in IDS:
        text = text.replace(f'<section id="{name}"', f'<section class="further" id="{name}"')
    route.fulfill(response=answer, body=text)


@pytest.fixture
def folded(
    visit: Callable[..., Visit], context: BrowserContext, address: str
) -> Iterator[Callable[..., Visit]]:
    """Return a function that opens the page, at an anchor and in a mode."""
    context.route(f"**/{PAGE}*", mark)
    yield lambda anchor="", mode="light": visit(f"{address}/{PAGE}{anchor}", mode, unfold=False)
    context.unroute(f"**/{PAGE}*")


@pytest.fixture
def alone(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page in a browser of its own, which forgets nothing."""
    made = []

    def new(**options: bool) -> Page:
        made.append(browser.new_context(**options))
        made[-1].route(f"**/{PAGE}", mark)
        return made[-1].new_page()

    yield new
    for own in made:
        own.close()


def section(page: Page, name: str = IDS[0]) -> tuple[Locator, Locator]:
    """Return the button and the content of a section."""
    found = page.locator(f"section#{name}")
    return found.locator(".further-time button"), found.locator(".further-body > p").first


@pytest.mark.parametrize("mode", MODES)
def test_mouse_and_keys_open_and_fold(folded: Callable[..., Visit], mode: str) -> None:
    seen = folded(mode=mode)
    button, content = section(seen.page)
    assert content.evaluate("one => !one.checkVisibility({contentVisibilityAuto: true})")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_have_accessible_name(re.compile(r"^Open 3\. A softmax"))
    button.click()
    assert content.evaluate("one => one.checkVisibility({contentVisibilityAuto: true})")
    expect(button).to_have_attribute("aria-expanded", "true")
    button.press("Enter")
    expect(button).to_have_text("Open")
    seen.page.locator(f"section#{IDS[0]} > h2").click()
    expect(button).to_have_text("Fold")
    assert seen.errors == []


def test_what_is_too_wide_where_a_page_opens_is_reached_by_keyboard(
    visit: Callable[..., Visit], address: str
) -> None:
    page = visit(f"{address}/notebooks/05_multi_head.html", "phone").page
    found = "[...document.querySelectorAll('article pre')]"
    wide = f"{found}.filter((one) => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{wide}.length") > 3
    assert page.evaluate(f"{wide}.filter((one) => one.tabIndex).map((one) => one.id)") == []


def test_an_address_and_a_link_open_what_they_point_into(folded: Callable[..., Visit]) -> None:
    page = folded(f"#{IDS[1]}").page
    expect(section(page, IDS[1])[0]).to_have_text("Fold")
    expect(section(page)[0]).to_have_text("Open")
    inner = page.locator(f"section#{IDS[0]} section").first.get_attribute("id")
    for _ in range(2):  # the second time the address stays the same
        page.evaluate("name => document.querySelector(`a[href='#${name}']`).click()", inner)
        expect(section(page)[0]).to_have_text("Fold")
        expect(page.locator(f"section#{inner}")).to_be_in_viewport()
        section(page)[0].click()


def test_a_search_opens_where_its_words_are(alone: Callable[..., Page], address: str) -> None:
    page = alone()
    page.goto(f"{address}/search.html?q=Overflow")
    expect(page.locator("#search-results li").first).to_be_visible()
    page.goto(f"{address}/{PAGE}")
    expect(section(page)[0]).to_have_text("Fold")
    expect(section(page, IDS[1])[0]).to_have_text("Open")
    page.reload()
    expect(section(page)[0]).to_have_text("Open")


def test_without_javascript_all_is_open(alone: Callable[..., Page], address: str) -> None:
    page = alone(java_script_enabled=False)
    page.goto(f"{address}/{PAGE}")
    assert page.locator("section.further").count() == len(IDS)
    assert page.locator("section.further > p").nth(1).is_visible()
    assert page.locator(".further-time").count() == 0


def test_on_paper_all_is_open(folded: Callable[..., Visit]) -> None:
    page = folded().page
    page.emulate_media(media="print")
    assert page.locator(".further-time button").first.is_hidden()
    look = "one => [one.offsetHeight > 400, getComputedStyle(one).contentVisibility]"
    for body in page.locator(".further-body").all():
        assert body.evaluate(look) == [True, "visible"]


@pytest.mark.parametrize("mode", MODES)
def test_a_folded_page_breaks_no_rule_of_axe(folded: Callable[..., Visit], mode: str) -> None:
    seen = folded(mode=mode)
    section(seen.page)[0].click()  # one open, one folded
    seen.turn(mode)
    seen.page.add_script_tag(path=AXE)
    assert seen.page.evaluate(RUN_AXE, {"runOnly": ["wcag2a", "wcag2aa", "best-practice"]}) == []


def test_what_was_opened_by_hand_is_open_the_next_time(
    alone: Callable[..., Page], address: str
) -> None:
    page = alone()
    page.goto(f"{address}/{PAGE}")
    button, _ = section(page)
    button.click()
    page.reload()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(section(page, IDS[1])[0]).to_have_attribute("aria-expanded", "false")
    button.click()
    page.reload()
    expect(button).to_have_attribute("aria-expanded", "false")
