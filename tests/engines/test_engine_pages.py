"""The site's pages besides their widgets, in engines other than Chromium's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.book.book_support import WIDGETS_STAND
from tests.book.test_book_pages import CHAPTER, TERMS
from tests.engines.engine_drivers import soon
from tests.engines.engine_page import Locator, Page
from tests.widgets.widget_hands import Hand, press, reach, typed

pytestmark = pytest.mark.exhaustive
LIGHT, DARK = ["light", "rgb(255, 255, 255)"], ["dark", "rgb(21, 25, 31)"]
LOOK = """() => [document.documentElement.dataset.theme,
    getComputedStyle(document.querySelector(".acw")).backgroundColor]"""
SHOWN = "(e) => e.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })"


@pytest.fixture(params=["mouse", "keys"])
def hand(request: pytest.FixtureRequest) -> Hand:
    return request.param


def results(page: Page, name: str) -> Locator:
    return page.locator(f"#search-results a[href*='notebooks/{name}.html']").first


@pytest.mark.parametrize("name", TERMS)
def test_search_finds_the_chapter(opened: Callable[..., Page], address: str, name: str) -> None:
    results(opened(f"{address}/search.html?q={TERMS[name]}"), name).wait_for()


def test_search_takes_keys_alone_in_a_folder(opened: Callable[..., Page], site: Path) -> None:
    page = opened(f"{site.as_uri()}/{CHAPTER}")
    page.keyboard.press("Control+K")
    soon(lambda: page.evaluate("document.activeElement.type === 'search'"), "the field is open")
    page.keyboard.type(TERMS["07_positions"])
    page.keyboard.press("Enter")
    results(page, "07_positions").wait_for()


def test_a_page_is_dark_where_the_desktop_is(opened: Callable[..., Page], address: str) -> None:
    assert opened(f"{address}/{CHAPTER}").evaluate(LOOK) == LIGHT
    assert opened(f"{address}/{CHAPTER}", dark=True).evaluate(LOOK) == DARK


def test_the_theme_s_button_is_obeyed_and_remembered(
    opened: Callable[..., Page], address: str, hand: Hand
) -> None:
    page = opened(f"{address}/{CHAPTER}")
    menu = page.locator(".theme-switch-button").first
    press(lambda _: menu).take(page.locator("body"), hand)
    if hand == "mouse":
        page.locator('.theme-change-button[data-mode="dark"]').first.click()
    else:
        soon(lambda: menu.evaluate("e => e === document.activeElement"), "the menu has the focus")
        typed(*["ArrowDown"] * 3, "Enter")(page, menu)  # the last of three
    soon(lambda: page.evaluate(LOOK) == DARK, "the page is dark")
    page.goto(f"{address}/index.html")
    page.wait_for_function(WIDGETS_STAND)
    assert page.evaluate(LOOK) == DARK


def test_an_answer_unfolds(
    opened: Callable[..., Page], address: str, hand: Hand, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.id == "webkit-keys":
        pytest.xfail("in WebKitGTK, Tab passes over every <summary>, on a page of nothing else too")
    page = opened(f"{address}/{CHAPTER}")
    answers = page.locator("article section > details:not(.look-up)")
    assert answers.count() > 5
    answer = answers.first.locator("p, li").first
    assert not answer.evaluate(SHOWN)
    press(lambda root: root.locator("summary")).take(answers.first, hand)
    assert answer.evaluate(SHOWN)


def test_a_guess_uncovers_what_was_measured_and_is_kept(
    opened: Callable[..., Page], address: str, hand: Hand
) -> None:
    page = opened(f"{address}/{CHAPTER}")
    card = page.locator('[data-guess="03.parameters"]')
    measured = page.get_by_text("two projections 65,536").last
    assert not measured.evaluate(SHOWN)
    box = card.get_by_role("textbox")
    if hand == "mouse":
        box.fill("500000")
        card.get_by_role("button", name="Guess", exact=True).click()
    else:
        reach(card, box)
        page.keyboard.type("500000")
        page.keyboard.press("Enter")
    soon(lambda: measured.evaluate(SHOWN), "what was measured is shown")
    page.goto(f"{address}/{CHAPTER}")
    soon(lambda: "your guess 500,000" in card.inner_text(), "the guess is kept")
    assert measured.evaluate(SHOWN)


def test_a_section_that_goes_further_unfolds(
    opened: Callable[..., Page], address: str, hand: Hand
) -> None:
    page = opened(f"{address}/{CHAPTER}")
    button = page.locator(".further-time > button").first
    text = button.locator("xpath=ancestor::section[1]").locator(".further-body > p").last
    assert not text.evaluate(SHOWN)
    press(lambda _: button).take(button.locator("xpath=.."), hand)
    soon(lambda: text.evaluate(SHOWN), "the section is shown")
