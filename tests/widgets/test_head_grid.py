"""What head_grid accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import re
from collections.abc import Callable
from typing import Any

import head_grid_cases
import numpy as np
import pytest
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import HeadGrid, head_grid

Show = Callable[..., Page]


def shared_grid(**more: Any) -> tuple[HeadGrid, dict[str, Any]]:
    """The heads of the shared cases, with weights that say where each looks."""
    cases = head_grid_cases.cases()
    heads, queries, width = cases["shape"]
    weights = np.stack([np.roll(np.eye(queries), shift, axis=1) for shift in range(heads)])
    parts = np.reshape(cases["parts"], (heads, queries, width))
    return head_grid(weights, list("abcd"), list("wxyz"), contributions=parts, **more), cases


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(head_grid_cases.PATH.read_text(encoding="utf-8"))
    fresh = head_grid_cases.cases()
    np.testing.assert_allclose(stored["parts"], fresh["parts"], rtol=1e-12)
    for kept, made in zip(stored["moves"], fresh["moves"], strict=True):
        assert kept["off"] == made["off"]
        np.testing.assert_allclose(kept["shares"], made["shares"], atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2, 3), "HeadGrid(1 heads, 2 x 3)"),
        ((4, 2, 3), "HeadGrid(4 heads, 2 x 3)"),
        ((5, 4, 2, 3), "HeadGrid(5 layers, 4 heads, 2 x 3)"),
    ],
)
def test_one_matrix_heads_and_layers(shape: tuple[int, ...], text: str) -> None:
    parts = np.ones((*shape[:-1], 7))
    widget = head_grid(np.zeros(shape), contributions=parts)
    assert repr(widget) == text
    assert np.frombuffer(widget.parts, "<f4").size == parts.size
    assert head_grid(np.zeros(shape)).parts == b""


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget, _ = shared_grid()
    read = set(re.findall(r'\.get\("(\w+)"\)', widget._esm))
    assert read <= set(widget.get_state())
    assert len(read) >= 12


@pytest.mark.parametrize(
    ("weights", "more", "error", "says"),
    [
        ([0.5], {}, ValueError, r"weights must be \(L, S\)"),
        ([[1.0]], {"key_tokens": ["a", "b"]}, ValueError, "one string per key, 1, got 2"),
        ([[1.0]], {"head_names": "a"}, TypeError, "head_names must be a sequence of strings"),
        ([[1.0]], {"title": 3}, TypeError, "title must be a str, got int"),
        (np.ones((2, 3, 4)), {"contributions": np.ones((2, 4, 5))}, ValueError,
         r"contributions must have .*\(1, 2, 3\), got \(1, 2, 4\)"),
        ([[1.0]], {"contributions": [[np.nan]]}, ValueError, "contributions must be finite"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_said(
    weights: Any, more: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        head_grid(weights, **more)


def test_a_choice_that_does_not_exist_is_refused() -> None:
    widget = head_grid(np.zeros((2, 3, 4, 5)))
    widget.layer, widget.cell, widget.off = 1, [3, 4], [[1, 2], [0, 0]]
    with pytest.raises(ValueError, match=r"layer must be in 0..1, got 2"):
        widget.layer = 2
    with pytest.raises(ValueError, match=r"cell must be \[query, key\] inside \[4, 5\]"):
        widget.cell = [4, 0]
    with pytest.raises(ValueError, match=r"off must hold \[layer, head\] inside \[2, 3\]"):
        widget.off = [[0, 3]]


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel_and_agrees_with_python(open_page: Show, over: str) -> None:
    widget, cases = shared_grid()
    page = open_page([widget], over=over)
    page.locator(".acw-map canvas").nth(1).hover(position={"x": 2, "y": 2})
    expect(page.locator(".acw-readout")).to_contain_text("query \u2068'a'\u2069 (0) to key")
    expect(page.locator(".acw-value")).to_have_text(["1.000", "0.000", "0.000"])
    for move in cases["moves"]:
        page.get_by_role("button", name="All on").click()
        for head in move["off"]:
            page.get_by_role("button", name=f"Head {head}").click()
        if move["off"]:
            moved = f"moves by {round(100 * np.mean(move['shares']))}% of its length"
            expect(page.locator(".acw-said")).to_contain_text(moved)


@pytest.mark.browser
def test_the_keyboard_alone_reaches_everything(open_page: Show) -> None:
    page = open_page([shared_grid()[0]])
    page.get_by_role("button", name="All on").focus()
    for key in ("Tab", "Tab", "ArrowDown", "ArrowRight", "Tab", "Tab", "Space"):
        page.keyboard.press(key)
    expect(page.locator(".acw-readout")).to_contain_text("query \u2068'b'\u2069 (1)")
    expect(page.get_by_role("button", name="Head 1")).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".acw-said")).to_contain_text("Off: Head 1")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    weights = np.random.default_rng(0).random((2, 12, 30, 40))
    large = head_grid(weights, contributions=weights, title="Two layers")
    page = open_page([shared_grid()[0], large], theme=theme, scheme=scheme, width=width)
    page.get_by_role("button", name="Head 1", exact=True).first.click()
    for summary in page.locator("summary").all():
        summary.click()
    assert_readable(page, width)
