"""What a keystroke costs: the whole model runs at each, without a worker. The times are printed."""

import statistics
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from course_utils.widgets import date_writer

pytestmark = pytest.mark.browser
TEXT = "Samstag, den 13. September 2021 um halb neun"
TYPE = """async (text) => {
    const input = document.querySelector(".acw input");
    const times = [];
    for (let length = 1; length <= text.length; length++) {
        input.value = text.slice(0, length);
        const start = performance.now();
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await Promise.resolve();
        document.body.getBoundingClientRect();
        times.push(performance.now() - start);
        if (document.querySelectorAll(".acw-read span").length === 0) return [];
    }
    return times;
}"""


def test_each_keystroke_is_answered_at_once(open_page: Callable[..., Page]) -> None:
    page = open_page([date_writer("")])
    times = page.evaluate(TYPE, TEXT)
    assert len(times) == len(TEXT), "each is answered before the next"
    expect(page.locator(".acw-read span")).to_have_count(len(TEXT))
    print(f"keystroke: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
