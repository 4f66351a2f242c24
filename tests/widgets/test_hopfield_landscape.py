"""What hopfield_landscape accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import re
from collections.abc import Callable
from typing import Any

import hopfield_landscape_cases
import pytest
import torch
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import hopfield_landscape

Show = Callable[..., Page]
PAIR = [(1.0, 0.0), (-1.0, 0.0)]


def test_it_opens_on_a_triangle() -> None:
    widget = hopfield_landscape()
    assert (len(widget.patterns), widget.count) == (6, 3)
    assert repr(widget) == (
        "HopfieldLandscape(3 of 6 patterns, beta=4, start=[0.3, 0.4], as_attention=False)"
    )


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget = hopfield_landscape(PAIR, beta=2, as_attention=True)
    assert (widget.patterns, widget.count) == ([[1.0, 0.0], [-1.0, 0.0]], 2)
    read = set(re.findall(r'model\.get\("(\w+)"\)', widget._esm))
    assert {*read, "beta", "start", "as_attention"} <= set(widget.get_state())


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(hopfield_landscape_cases.PATH.read_text(encoding="utf-8"))
    fresh = hopfield_landscape_cases.cases()
    assert [case["valleys"] for case in stored] == [case["valleys"] for case in fresh]
    for kept, made in zip(stored, fresh, strict=True):
        for was, now in zip(kept["walk"], made["walk"], strict=True):
            for name in was:
                ours, theirs = (torch.tensor(of[name], dtype=torch.float64) for of in (was, now))
                torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("patterns", "options", "error", "says"),
    [
        ([], {}, ValueError, "must be from 1 to [06], got 0"),
        ([(0, 0)] * 7, {}, ValueError, "patterns must be from 1 to 6, got 7"),
        ([(2.5, 0)], {}, ValueError, r"each pattern must have two coordinates .*got \[2\.5, 0\]"),
        ([(1, 0, 0)], {}, ValueError, r"each pattern must have two coordinates .*got \[1, 0, 0\]"),
        ([(float("nan"), 0)], {}, ValueError, r"each pattern must .*got \[nan, 0\]"),
        (PAIR, {"start": (0, 3)}, ValueError, r"start must .*from -2 to 2, got \[0, 3\]"),
        (PAIR, {"count": 3}, ValueError, "count must be from 1 to 2, got 3"),
        (PAIR, {"count": 1.0}, TypeError, "count must be an int, got float"),
        (PAIR, {"beta": 0.01}, ValueError, r"beta must be from 0\.1 to 100, got 0\.01"),
        (PAIR, {"beta": "2"}, TypeError, "beta must be a number, got str"),
        (PAIR, {"as_attention": 1}, TypeError, "as_attention must be a bool, got int"),
    ],
)
def test_wrong_arguments_are_said(
    patterns: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        hopfield_landscape(patterns, **options)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_a_click_starts_a_walk_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([hopfield_landscape()], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text("at pattern 1")
    box = page.locator(".acw-plane").bounding_box() or {}
    page.mouse.click(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"])
    expect(said).to_contain_text("at pattern 2")
    expect(page.get_by_role("slider", name="state ξ")).to_be_focused()
    page.get_by_role("checkbox", name="call it attention").check()
    expect(said).to_contain_text("3 keys, scale = 4: 3 valleys")


@pytest.mark.browser
def test_handles_follow_the_mouse_and_the_arrow_keys(open_page: Show) -> None:
    page = open_page([hopfield_landscape(PAIR)])
    handle = page.get_by_role("slider", name="pattern 1")
    box = page.locator(".acw-plane").bounding_box() or {}
    unit = box["width"] / 4.4  # the picture reaches 2.2 to each side
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(middle[0] + unit, middle[1])
    page.mouse.down()
    page.mouse.move(middle[0] + 1.5 * unit, middle[1] - 0.5 * unit, steps=5)
    page.mouse.up()
    expect(handle).to_have_attribute("aria-valuetext", "1.50, 0.50")
    handle.press("ArrowRight")
    handle.press("Shift+ArrowDown")
    expect(handle).to_have_attribute("aria-valuetext", "1.60, 0.00")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    page = open_page([hopfield_landscape(count=6)], theme=theme, scheme=scheme, width=width)
    page.get_by_role("checkbox", name="call it attention").check()
    assert_readable(page, width)
