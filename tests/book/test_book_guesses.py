"""Guesses, options and lines to write in on the site: by mouse and by keys, without a kernel."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from course_utils.guessing.known import known
from tests.book.book_support import UNFOLD, pages

CHAPTER = "notebooks/03_scaled_dot_product.html"
NAME = "03.parameters"
SAID = re.compile(r"^(You guessed|You drew|On average|\d+ of \d+ pairs)")

pytestmark = pytest.mark.browser


@pytest.fixture
def own(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has guessed nothing yet."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    yield context
    context.close()


@pytest.fixture
def page(own: BrowserContext, address: str) -> Page:
    page = own.new_page()
    page.goto(f"{address}/{CHAPTER}")
    return page


def test_a_guess_uncovers_what_was_measured_and_is_kept(page: Page) -> None:
    place = page.locator(f'[data-guess="{NAME}"]')
    measured = page.get_by_text("two projections 65,536")
    expect(measured).to_be_hidden()
    place.get_by_role("textbox").focus()
    page.keyboard.type("500000")
    page.keyboard.press("Enter")
    expect(measured).to_be_visible()
    expect(place).to_contain_text("It is 65,536: too high by a factor of 7.63.")
    page.reload()
    expect(measured).to_be_visible()
    expect(place).to_contain_text("your guess 500,000")


def test_what_was_measured_is_shown_without_a_guess_to_those_who_ask(page: Page) -> None:
    place = page.locator(f'[data-guess="{NAME}"]')
    place.get_by_role("button", name="Show it without a guess").click()
    expect(page.get_by_text("two projections 65,536")).to_be_visible()
    expect(place.get_by_role("textbox")).to_be_visible()


def test_a_page_without_javascript_hides_nothing(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{CHAPTER}")
    expect(page.get_by_text("two projections 65,536")).to_be_visible()
    expect(page.locator(f'[data-guess="{NAME}"]')).to_contain_text("How many numbers do")
    context.close()


def test_options_are_buttons_each_with_its_own_reason(page: Page) -> None:
    options = page.locator("ul.options").first.get_by_role("button")
    first, right = options.nth(0), options.nth(1)
    first.click()
    expect(first.locator("xpath=..")).to_contain_text("A is wrong: 64 is the width")
    right.focus()
    page.keyboard.press("Enter")
    expect(right.locator("xpath=..").locator(".reason.right")).to_contain_text("B is right")
    assert right.get_attribute("aria-expanded") == "true"


def test_every_question_takes_a_guess_or_has_a_line_that_is_kept(page: Page) -> None:
    asked = page.locator("article p > strong:first-child").all_inner_texts()
    count = sum(text.startswith(("Predict", "Check yourself", "Find the error")) for text in asked)
    lines, guesses = page.locator(".guess-line"), page.locator("article .guess[data-guess]")
    assert lines.count() + page.locator("ul.options").count() + guesses.count() >= count
    lines.first.fill("negative")
    lines.first.press("Tab")
    page.reload()
    expect(page.locator(".guess-line").first).to_have_value("negative")


def test_the_instructor_s_page_covers_nothing(browser: Browser, instructor_address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{instructor_address}/{CHAPTER}")
    expect(page.get_by_text("two projections 65,536")).to_be_visible()
    context.close()


def test_all_guesses_of_a_chapter_stand_on_its_page(page: Page) -> None:
    found = page.locator("article .guess[data-guess]").evaluate_all(
        "all => all.map((one) => one.dataset.guess)"
    )
    assert found == [name for name in known() if name[:2] == "03"]


def give(card: Locator, kind: str, hand: str) -> None:
    """Give a guess of any kind, by the mouse or by keys."""
    keys = card.page.keyboard
    buttons = card.locator(".acw-options button, .acw-typed button, .acw-curve > button")
    if hand == "mouse":
        if kind == "number":
            card.get_by_role("textbox").fill("7")
        if kind == "curve":
            board = card.locator(".acw-board svg")
            box = board.bounding_box()
            assert box is not None
            board.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
        for number in range(buttons.count() - 1 if kind == "order" else 1):
            buttons.nth(number).click()  # the last of an order's starts it over
        return
    if kind == "number":
        card.get_by_role("textbox").focus()
        keys.type("7")
    elif kind == "curve":
        card.locator(".acw-grip").first.focus()
        keys.type("9" * card.locator(".acw-grip").count())
    else:
        buttons.first.focus()
        keys.type("".join(map(str, range(1, buttons.count() + (kind == "choice")))))
    if kind in ("number", "curve"):
        keys.press("Enter")


@pytest.mark.thorough
@pytest.mark.parametrize("hand", ["mouse", "keys"])
@pytest.mark.parametrize("name", [page for page in pages() if page.startswith("notebooks/")])
def test_every_guess_of_a_page_is_given_and_compared(
    browser: Browser, address: str, name: str, hand: str
) -> None:
    context = browser.new_context(
        viewport={"width": 1280 if hand == "mouse" else 390, "height": 900}
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{address}/{name}")
    page.evaluate(UNFOLD.replace(", .guess-waits button", ""))
    places = page.locator("article .guess[data-guess]")
    asked = [row.question for key, row in known().items() if key[:2] == name[10:12]]
    assert places.count() == len(asked)
    for question, card in zip(asked, places.all(), strict=True):
        give(card, question.kind, hand)
        expect(card.locator(".acw-said")).to_have_text(SAID)
        expect(card.locator(".guess-waits button:visible")).to_have_count(0)
    kept = page.evaluate(
        "Object.keys(JSON.parse(localStorage.getItem('attention-course-guesses')))"
    )
    assert [one for one in kept if one in known()] == [question.name for question in asked]
    assert wrong == []
    context.close()
