"""What variant_explorer accepts, refuses, keeps for the page, and shows there."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import variant_explorer_cases
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import VariantExplorer, variant_explorer

Show = Callable[..., Page]
RUNS = [
    {"what": name, "length": n, "milliseconds": ms * n / 512, "flops": 1}
    for name, ms in (("SDPA, causal", 4.0), ("sliding window", 2.0))
    for n in (512, 1024, 2048, 4096)
]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = variant_explorer_cases.PATH.read_text(encoding="utf-8")
    assert stored == variant_explorer_cases.text(), "run tests/widgets/variant_explorer_cases.py"


def test_the_page_gets_the_times_of_each_variant() -> None:
    widget = variant_explorer(RUNS)
    assert repr(widget) == "VariantExplorer(window, 4096 tokens, 2 curves)"
    assert widget.curves["sliding window"][1] == [1024, 4.0]
    assert json.dumps(widget.curves)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"variant": "dense"}, "variant must be one of full, .*, got 'dense'"),
        ({"length": 100}, "length must be a power of two from 128 to 131072, got 100"),
        ({"length": 2**18}, "length must be a power of two"),
        ({"d_k": 8}, "d_k must be a power of two from 16 to 128, got 8"),
        ({"num_heads": 3}, "num_heads must be a power of two from 1 to 32, got 3"),
        ({"window": 8192}, "window must be a power of two from 16 to 4096, got 8192"),
        ({"num_kv_heads": 16}, "num_kv_heads must be at most num_heads = 8, got 16"),
        ({"num_kv_heads": 3}, "num_kv_heads must be a power of two from 1 to 32, got 3"),
        ({"num_kv_heads": 0}, "num_kv_heads must be a power of two from 1 to 32, got 0"),
    ],
)
def test_wrong_arguments_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        variant_explorer(RUNS, **changes)


def test_a_control_of_the_page_cannot_leave_its_range() -> None:
    widget: VariantExplorer = variant_explorer()
    widget.length = 512
    with pytest.raises(ValueError, match="length must be"):
        widget.length = 513
    assert widget.length == 512


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([variant_explorer(RUNS)], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text("Sliding window, 4096 tokens")
    slider = page.get_by_role("slider", name="tokens n")
    slider.focus()
    slider.press("ArrowLeft")
    expect(said).to_contain_text("2048 tokens")
    expect(said).to_contain_text("Recorded: 8 ms, 2 times faster than SDPA, causal.")
    page.get_by_label("variant", exact=True).select_option("linear kernel")
    expect(said).to_contain_text("No time was recorded")
    expect(page.get_by_role("row", name="weights or state")).to_contain_text("130 KiB")
    expect(page.get_by_role("slider", name="key/value heads")).to_be_disabled()


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, width: int
) -> None:
    page = open_page([variant_explorer(RUNS)], theme=theme, width=width)
    assert_readable(page, width)
