"""The site remembers where a chapter was left, in the browser alone."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

CHAPTER = "notebooks/03_scaled_dot_product.html"

pytestmark = pytest.mark.browser


def kept(page: Page) -> str | None:
    return page.evaluate("localStorage.getItem('attention-course')")


def read_to(page: Page, selector: str) -> None:
    page.locator(selector).first.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 400)")
    page.wait_for_function("localStorage.getItem('attention-course') !== null")


def test_a_chapter_is_offered_where_it_was_left(own: BrowserContext, address: str) -> None:
    page = own.new_page()
    page.goto(f"{address}/index.html")
    expect(page.locator(".front-begin")).not_to_contain_text("Go on")
    page.goto(f"{address}/{CHAPTER}")
    assert kept(page) is None
    read_to(page, "#a-softmax-that-survives")
    page.goto(f"{address}/index.html")
    link = page.locator(".front-begin").get_by_role("link", name="Go on: chapter 03")
    expect(link).to_contain_text("3. A softmax that survives")
    expect(page.locator(".front-path li").nth(2)).to_contain_text("begun")
    link.click()
    assert page.url.endswith("#a-softmax-that-survives")
    expect(page.locator("nav.bd-links a", has_text="03 Scaled")).to_contain_text("begun")


def test_what_was_read_to_the_end_is_marked_and_stays_so(own: BrowserContext, address: str) -> None:
    page = own.new_page()
    page.goto(f"{address}/{CHAPTER}", wait_until="networkidle")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_function("localStorage.getItem('attention-course')?.includes('\"done\":true')")
    page.evaluate("scrollTo(0, 4000)")
    page.wait_for_function("!localStorage.getItem('attention-course').includes('Go further')")
    page.goto(f"{address}/index.html")
    expect(page.locator(".front-path li").nth(2)).to_contain_text("· read")
    expect(page.locator(".front-begin")).not_to_contain_text("Go on")


def test_a_browser_that_keeps_nothing_reads_all_the_same(own: BrowserContext, address: str) -> None:
    own.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw 1 } })")
    page, errors = own.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/{CHAPTER}", wait_until="networkidle")
    page.evaluate("scrollTo(0, 4000)")
    page.wait_for_timeout(500)
    assert not [error for error in errors if "place.js" in error]
