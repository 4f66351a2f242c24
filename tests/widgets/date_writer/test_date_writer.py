"""Arguments that `date_writer` accepts and refuses, its record, and the cost of a keystroke."""

import datetime
import statistics
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from course_utils.data.dates import is_held_out, sample_dates
from course_utils.measure import read_record
from course_utils.widgets import date_writer
from course_utils.widgets.date_writer.date_writer import EXAMPLES
from tests.widgets.date_writer import date_writer_cases

RECORD = read_record(date_writer_cases.RECORD)
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


def test_it_opens_on_a_date_that_was_kept_from_training() -> None:
    shown = date_writer()
    assert repr(shown) == "DateWriter('13. März 2021', place=6)"
    made, source = date_writer_cases.model()
    for text in EXAMPLES[:8]:
        assert date_writer_cases.read(made, source, text)["written"] == "2021-03-13"
    wrong = date_writer_cases.read(made, source, EXAMPLES[-1])
    assert wrong["written"] != "2021-06-22"
    assert wrong["chance"] >= shown.sure, "the page names it as sure and wrong"


def test_the_day_of_the_examples_was_kept_from_training() -> None:
    for day in (datetime.date(2021, 3, 13), datetime.date(2021, 6, 22)):
        assert is_held_out(day)


def test_at_least_96_of_100_dates_of_every_locale_are_right_and_the_weights_are_small() -> None:
    for row in RECORD["by_locale"]:
        assert row["right"] >= 0.96 * row["dates"], row
    run = RECORD["runs"][0]
    assert len(run["weights"]) <= 400_000
    assert run["right"] >= 0.99 * run["dates"]


def test_the_model_of_the_record_is_right_where_the_record_says_so() -> None:
    """Some of the dates again, in float64."""
    made, source = date_writer_cases.model()
    drawn = sample_dates(40, torch.Generator().manual_seed(9), held_out=True)
    found = [date_writer_cases.read(made, source, date.text)["written"] for date in drawn]
    assert sum(text == date.iso for text, date in zip(found, drawn, strict=True)) >= 39


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"text": 3}, TypeError, "text must be a str, got int"),
        ({"record": {"runs": []}}, ValueError, r"record must hold runs, .* got \['runs'\]"),
        ({"record": 3}, TypeError, "record must be"),
        ({"place": 11}, ValueError, "place must be in 0..10, got 11"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        date_writer(**arguments)


@pytest.mark.browser
def test_each_keystroke_is_answered_at_once(open_page: Callable[..., Page]) -> None:
    """The whole model runs at each. The times are printed."""
    page = open_page([date_writer("")])
    times = page.evaluate(TYPE, TEXT)
    assert len(times) == len(TEXT), "each is answered before the next"
    expect(page.locator(".acw-read span")).to_have_count(len(TEXT))
    print(f"keystroke: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
