"""What decode_stepper accepts, refuses, and shows on a page."""

import json
from collections.abc import Callable
from typing import Any

import decode_stepper_cases
import pytest
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import DecodeStepper, decode_stepper

Show = Callable[..., Page]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = decode_stepper_cases.PATH.read_text(encoding="utf-8")
    assert stored == decode_stepper_cases.text(), "run tests/widgets/decode_stepper_cases.py"


def test_the_page_gets_the_text_and_the_sizes() -> None:
    widget = decode_stepper(["a", "bc", "d"], prompt=2, kind="gqa", num_layers=3)
    assert repr(widget) == "DecodeStepper(gqa, 2 of 3 tokens given)"
    assert (widget.tokens, widget.chunk, widget.num_layers) == (["a", "bc", "d"], 2, 3)
    assert json.dumps(widget.tokens)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "all"}, "kind must be one of none, mha, gqa, mqa, window, got 'all'"),
        ({"tokens": ["a"]}, "tokens must be from 2 to 64, got 1"),
        ({"prompt": 0}, "prompt must be from 1 to 22, got 0"),
        ({"prompt": 23}, "prompt must be from 1 to 22, got 23"),
        ({"window": 17}, "window must be from 1 to 16, got 17"),
        ({"num_sinks": -1}, "num_sinks must be from 0 to 4, got -1"),
        ({"num_heads": 6}, "num_heads must be a power of two from 1 to 32, got 6"),
        ({"bytes_per_element": 8}, "bytes_per_element must be a power of two from 1 to 4, got 8"),
    ],
)
def test_wrong_values_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        decode_stepper(**changes)


def test_wrong_kinds_of_arguments_are_said() -> None:
    with pytest.raises(TypeError, match="tokens must be a sequence of strings, got 'a b'"):
        decode_stepper("a b")
    with pytest.raises(TypeError, match=r"sizes must be among bytes_per_element, .*, got 'heads'"):
        decode_stepper(heads=3)


def test_a_control_of_the_page_cannot_leave_its_range() -> None:
    widget: DecodeStepper = decode_stepper()
    with pytest.raises(ValueError, match="num_layers must be from 1 to 96, got 97"):
        widget.num_layers = 97
    assert widget.num_layers == 12


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([decode_stepper()], over=over)
    said = page.locator(".acw-said")
    step = page.get_by_role("button", name="One step on")
    step.focus()
    step.press("Enter")
    expect(said).to_contain_text("Positions 0 to 7 are fed")
    step.press("Enter")
    expect(said).to_contain_text("Position 8 is fed")
    expect(page.get_by_role("row", name="kept")).to_contain_text("216 KiB")
    page.get_by_label("kept", exact=True).select_option("one head (MQA)")
    expect(said).to_contain_text("Position 8 is fed")
    expect(page.get_by_role("row", name="kept")).to_contain_text("27 KiB")
    slider = page.get_by_role("slider", name="step")
    slider.focus()
    slider.press("End")
    expect(said).to_contain_text("position 22 is predicted")
    expect(step).to_be_disabled()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("kind", "theme", "width"), [("window", "light", 900), ("gqa", "dark", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, kind: str, theme: str, width: int
) -> None:
    page = open_page([decode_stepper(kind=kind, step=10)], theme=theme, width=width)
    assert_readable(page, width)
