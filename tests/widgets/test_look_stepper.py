"""What look_stepper accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import math
from collections.abc import Callable
from typing import Any

import look_stepper_cases
import pytest
import torch
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import look_stepper

Show = Callable[..., Page]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(look_stepper_cases.PATH.read_text(encoding="utf-8"))
    fresh = json.loads(look_stepper_cases.text())
    for kept, made in zip(stored, fresh, strict=True):
        for old, new in zip(kept.pop("walk"), made.pop("walk"), strict=True):
            assert old.keys() == new.keys()
            for name in old:
                torch.testing.assert_close(old[name], new[name], rtol=1e-12, atol=1e-13)
        assert kept == made


def test_it_opens_before_the_first_stage() -> None:
    assert repr(look_stepper()) == "LookStepper(3 words, factor=2, step=0)"
    assert look_stepper(step=12).step == 12


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"words": ()}, "1 to 6 words must have a state"),
        ({"words": [("a", "b")]}, "got 1 words and states of"),
        ({"states": [[1.0], [1.0, 2.0], [0.0, 1.0]]}, "two numbers each"),
        ({"states": [[math.inf, 0.0]] * 3}, "states must be finite"),
        ({"factor": 7}, "factor must be from 0.5 to 6, got 7"),
        ({"step": 13}, "step must be from 0 to 12, got 13"),
        ({"step": -1}, "step must be from 0 to 12, got -1"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        look_stepper(**arguments)


def test_a_factor_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(TypeError, match="factor"):
        look_stepper(factor="2")  # type: ignore[arg-type]


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([look_stepper()], over=over)
    said = page.locator(".acw-said")
    for words in ("scores: s₀ asks", "“la” gets 0.79", "context: c₁ =", "Written: “the”"):
        page.get_by_role("button", name="Step", exact=True).click()
        expect(said).to_contain_text(words)
    page.get_by_role("slider", name="stage").focus()
    page.keyboard.press("End")
    expect(page.locator(".acw-written")).to_have_text("Written so far: the red car")


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, width: int
) -> None:
    page = open_page([look_stepper(step=8)], theme=theme, width=width)
    assert_readable(page, width)
