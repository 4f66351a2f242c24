"""What patch_explorer accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import re
from collections.abc import Callable
from typing import Any

import patch_explorer_cases
import pytest
import torch
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.measure import read_record
from course_utils.widgets import patch_explorer

Show = Callable[..., Page]
RECORD = read_record(patch_explorer_cases.RECORD)


def test_it_opens_on_a_zero_in_order() -> None:
    assert repr(patch_explorer(RECORD)) == (
        "PatchExplorer(a 0, patch=2, layer=1, head=1, positions=True, shuffle=0)"
    )
    assert repr(patch_explorer(RECORD, image=7, patch=4, shuffle=2, positions=False)) == (
        "PatchExplorer(a 3, patch=4, layer=1, head=1, positions=False, shuffle=2)"
    )


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget = patch_explorer(RECORD)
    read = set(re.findall(r'model\.get\("(\w+)"\)', widget._esm))
    traits = {"image", "patch", "layer", "head", "positions"}
    assert {*read, *traits} <= set(widget.get_state())


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(patch_explorer_cases.PATH.read_text(encoding="utf-8"))
    for kept, made in zip(stored, patch_explorer_cases.cases(), strict=True):
        for name in ("probabilities", "rows"):
            torch.testing.assert_close(
                torch.tensor(kept[name]), torch.tensor(made[name]), atol=2e-6, rtol=0
            )


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"image": 20}, ValueError, "image must be from 0 to 19, got 20"),
        ({"patch": 3}, ValueError, "patch must be one of 2, 4, got 3"),
        ({"layer": 0}, ValueError, "layer must be from 1 to 2, got 0"),
        ({"head": 5}, ValueError, "head must be from 1 to 4, got 5"),
        ({"shuffle": -1}, ValueError, "shuffle must be from 0 to 99, got -1"),
        ({"head": 1.0}, TypeError, "head must be an int, got float"),
        ({"positions": 1}, TypeError, "positions must be a bool, got int"),
        ({"width": 1}, TypeError, "settings must be among head, .*, got 'width'"),
    ],
)
def test_wrong_settings_are_said(
    settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        patch_explorer(RECORD, **settings)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_a_shuffle_matters_only_with_positions(open_page: Show, over: str) -> None:
    page = open_page([patch_explorer(RECORD, image=6)], over=over)
    said, table = page.locator(".acw-said"), page.locator(".acw-main tbody")
    expect(said).to_contain_text("In order, with positions")
    before = table.inner_text()
    page.get_by_role("button", name="shuffle patches").click()
    expect(said).to_contain_text("Shuffle 1, with positions")
    assert table.inner_text() != before
    page.get_by_role("checkbox", name="positions").uncheck()
    expect(said).to_contain_text("Shuffle 1, without positions")
    before = table.inner_text()
    page.get_by_role("button", name="in order").click()
    expect(said).to_contain_text("In order, without positions")
    assert table.inner_text() == before


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    page = open_page([patch_explorer(RECORD, shuffle=3)], theme=theme, scheme=scheme, width=width)
    page.locator("summary").click()
    assert_readable(page, width)
