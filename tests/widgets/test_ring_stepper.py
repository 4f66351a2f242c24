"""What ring_stepper accepts, refuses and shows, in Python and on a page without a kernel."""

from collections.abc import Callable
from typing import Any

import pytest
import ring_stepper_cases
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import ring_stepper

Show = Callable[..., Page]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = ring_stepper_cases.PATH.read_text(encoding="utf-8")
    assert stored == ring_stepper_cases.text(), "run tests/widgets/ring_stepper_cases.py"


def test_it_opens_before_the_first_rotation() -> None:
    widget = ring_stepper()
    assert repr(widget) == "RingStepper(4 ranks of 4 tokens, contiguous, causal, step 0)"
    assert widget.view == "ring"
    shown = repr(ring_stepper(2, 8, token_layout="zigzag", is_causal=False, step=1))
    assert shown == "RingStepper(2 ranks of 8 tokens, zigzag, step 1)"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"world_size": 0}, "world_size must be from 1 to 8, got 0"),
        ({"world_size": 9}, "world_size must be from 1 to 8, got 9"),
        ({"tokens_per_rank": 10}, "tokens_per_rank must be from 2 to 8, got 10"),
        ({"tokens_per_rank": 3}, "tokens_per_rank must be even, got 3"),
        ({"token_layout": "ring"}, "token_layout must be one of .*, got 'ring'"),
        ({"view": "tensor"}, "view must be one of .*, got 'tensor'"),
        ({"step": 4}, "step must be from 0 to 3, got 4"),
        ({"num_heads": 17}, "num_heads must be from 1 to 16, got 17"),
        ({"d_k": 0}, "d_k must be at least 1, got 0"),
        ({"bytes_per_element": 0}, "bytes_per_element must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ring_stepper(**arguments)


@pytest.mark.parametrize("arguments", [{"world_size": 2.0}, {"step": True}, {"is_causal": 1}])
def test_wrong_kinds_are_said(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be"):
        ring_stepper(**arguments)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([ring_stepper()], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text("Step 0 of 3 (own blocks), contiguous, causal")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(said).to_contain_text("rank 0 idle")
    page.get_by_label("layout").select_option("zig-zag")
    expect(said).to_contain_text("1.00 times an even share")
    page.get_by_role("tab", name="Ulysses").click()
    expect(said).to_contain_text("it has 2 heads of all tokens")


@pytest.mark.browser
def test_the_keyboard_alone_turns_and_switches(open_page: Show) -> None:
    page = open_page([ring_stepper()])
    page.get_by_role("slider", name="step").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".acw-said")).to_contain_text("Step 1 of 3")
    page.get_by_role("tab", name="Ring").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Ulysses")).to_be_focused()
    expect(page.locator(".acw-said")).to_contain_text("after the all-to-all")


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 390)])
@pytest.mark.parametrize("view", ["ring", "ulysses"])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, width: int, view: str
) -> None:
    page = open_page(
        [ring_stepper(8, token_layout="zigzag", step=3, view=view)], theme=theme, width=width
    )
    assert_readable(page, width)
