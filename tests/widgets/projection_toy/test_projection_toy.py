"""Arguments that `projection_toy` accepts and refuses, and how its handles move."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from course_utils.widgets import projection_toy

Show = Callable[..., Page]
PAIR = {"a": (1.0, 0.0), "b": (0.0, 1.0)}


def test_it_opens_on_a_week_without_projections() -> None:
    widget = projection_toy()
    assert widget.tokens == ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    assert repr(widget) == (
        "ProjectionToy(7 tokens, w_query=[[1.0, 0.0], [0.0, 1.0]], "
        "w_key=[[1.0, 0.0], [0.0, 1.0]], w_value=[[1.0, 0.0], [0.0, 1.0]], query=0)"
    )
    assert projection_toy(PAIR).points == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("points", "options", "says"),
    [
        ({"a": (0, 0)}, {}, "points must hold from 2 to 8 tokens, got 1"),
        ({**PAIR, "c": (1.4, 1.4)}, {}, r"lie within 1\.5, got \[1\.4, 1\.4\] for c"),
        ({**PAIR, "c": (1, 0, 0)}, {}, r"two coordinates .* got \[1, 0, 0\] for c"),
        ({**PAIR, "c": (float("nan"), 0)}, {}, r"got \[nan, 0\] for c"),
        (PAIR, {"query": 2}, r"query must be in 0\.\.1, got 2"),
        (PAIR, {"w_key": [[1, 0]]}, r"w_key must have two rows of two numbers, got \[\[1"),
        (PAIR, {"w_query": [[1, 0], [0, 2.5]]}, r"w_query must have entries from -2 to 2, got"),
        (PAIR, {"w_value": [[1, 0], [0, float("nan")]]}, "w_value must have entries from -2 to 2"),
    ],
)
def test_wrong_arguments_are_said(points: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        projection_toy(points, **options)


@pytest.mark.browser
def test_handles_follow_the_mouse_and_the_arrow_keys(open_page: Show) -> None:
    page = open_page([projection_toy()])
    handle = page.get_by_role("slider", name="W_K, row 1")
    box = page.locator(".acw-plane").nth(2).bounding_box() or {}
    unit = box["width"] / 7.2  # a panel reaches 3.6 to each side
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(middle[0] + unit, middle[1])
    page.mouse.down()
    page.mouse.move(middle[0] - 1.5 * unit, middle[1] - 0.5 * unit, steps=5)
    page.mouse.up()
    expect(handle).to_have_attribute("aria-valuetext", "−1.50, 0.50")
    page.mouse.move(middle[0], middle[1])
    expect(handle).to_be_focused()
    handle.press("ArrowRight")
    handle.press("Shift+ArrowDown")
    expect(handle).to_have_attribute("aria-valuetext", "−1.40, 0.00")
    expect(page.locator(".acw-said")).to_contain_text("mon looks most at")
