"""What rope_clock accepts, refuses and shows, in Python and on a page without a kernel."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rope_clock_cases
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import rope_clock

Show = Callable[..., Page]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(rope_clock_cases.PATH.read_text(encoding="utf-8"))
    fresh = rope_clock_cases.cases()
    assert len(stored) == len(fresh)
    for kept, made in zip(stored, fresh, strict=True):
        assert kept.keys() == made.keys()
        assert kept["pairing"] == made["pairing"]
        for name in kept.keys() - {"pairing"}:
            np.testing.assert_allclose(kept[name], made[name], rtol=1e-12, atol=1e-13)


def test_it_opens_with_the_key_before_the_query() -> None:
    assert repr(rope_clock()) == "RopeClock(query at 6, key at 2, 4 pairs, interleaved)"
    assert len(rope_clock([1, 0], [0, 1]).query) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": [1.0, 2.0]}, r"one even width from 2 to 8, got \[2, 8\]"),
        ({"query": [1.0] * 3, "key": [1.0] * 3}, r"got \[3, 3\]"),
        ({"query": [1.0] * 10, "key": [1.0] * 10}, r"got \[10, 10\]"),
        ({"query": [float("nan")] * 8}, "query and key must be finite"),
        ({"base": 0}, "base must be a positive number, got 0"),
        ({"query_position": 64}, "query_position must be from 0 to 63, got 64"),
        ({"key_position": -1}, "key_position must be from 0 to 63, got -1"),
        ({"pairing": "halves"}, "pairing must be one of .*, got 'halves'"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        rope_clock(**arguments)


def test_a_pair_that_does_not_exist_is_refused() -> None:
    widget = rope_clock()
    widget.pair = 3
    with pytest.raises(ValueError, match="pair must be from 0 to 3, got 4"):
        widget.pair = 4


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([rope_clock()], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text("Query at 6, key at 2, the key 4 before the query: q·k = 0.989")
    page.get_by_role("button", name="Both one later").click()
    expect(said).to_contain_text("Query at 7, key at 3, the key 4 before the query: q·k = 0.989")
    page.get_by_label("pair 2").check()
    expect(page.locator(".acw-note")).to_contain_text("Pair 2 is features 4 and 5")
    page.get_by_label("pairing").select_option("split halves")
    expect(page.locator(".acw-note")).to_contain_text("Pair 2 is features 2 and 6")


@pytest.mark.browser
def test_the_keyboard_alone_moves_query_and_key(open_page: Show) -> None:
    page = open_page([rope_clock()])
    page.get_by_role("slider", name="query is at").focus()
    for key in ("ArrowRight", "ArrowRight", "Tab", "ArrowLeft", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".acw-said")).to_contain_text("Query at 7, key at 0")


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, width: int
) -> None:
    page = open_page([rope_clock()], theme=theme, width=width)
    page.locator("summary").click()
    assert_readable(page, width)
