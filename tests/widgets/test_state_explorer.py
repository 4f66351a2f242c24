"""What state_explorer accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import state_explorer_cases
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import state_explorer

Show = Callable[..., Page]


def test_it_opens_on_six_pairs() -> None:
    widget = state_explorer()
    assert (len(widget.writes), widget.asked) == (6, 0)
    assert repr(widget) == "StateExplorer(sum, 6 pairs, width=8)"


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget = state_explorer([(0, 1), (1, 2), (0, 9)], kind="fade", fade=1, asked=1)
    read = set(re.findall(r'model\.get\("(\w+)"\)', widget._esm))
    assert {*read, "kind", "writes", "width", "fade", "asked"} <= set(widget.get_state())
    assert widget.writes == [[0, 1], [1, 2], [0, 9]]


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(state_explorer_cases.PATH.read_text(encoding="utf-8"))
    for kept, made in zip(stored, state_explorer_cases.cases(), strict=True):
        for was, now in zip(kept.pop("readings"), made.pop("readings"), strict=True):
            assert was.pop("cosine") == pytest.approx(now.pop("cosine"), abs=1e-8)
            assert was == now
        assert kept == made


@pytest.mark.parametrize(
    ("writes", "options", "error", "says"),
    [
        ([], {}, ValueError, "writes must be from 1 to 48 pairs, got 0"),
        ([(0, 1)] * 49, {}, ValueError, "writes must be from 1 to 48 pairs, got 49"),
        ([(1, 1)], {}, ValueError, r"each pair must be a key from 0 to 0, .*got \[1, 1\]"),
        ([(0, 10)], {}, ValueError, r"a value from 0 to 9, got \[0, 10\]"),
        ([(0, 1, 2)], {}, ValueError, r"each pair must be .*got \[0, 1, 2\]"),
        ([(0, 1.5)], {}, TypeError, r"writes must be a sequence of ints, got \(0, 1\.5\)"),
        ([(0, 1)], {"kind": "lru"}, ValueError, "kind must be one of softmax, .*got 'lru'"),
        ([(0, 1)], {"width": 6}, ValueError, r"width must be one of \(4, 8, 16, 32\), got 6"),
        ([(0, 1)], {"width": 8.0}, TypeError, "width must be an int, got float"),
        ([(0, 1)], {"fade": 0.4}, ValueError, r"fade must be from 0\.5 to 1, got 0\.4"),
        ([(0, 1)], {"fade": "1"}, TypeError, "fade must be a number, got str"),
        ([(0, 1)], {"asked": 1}, ValueError, "asked must be a key that was written, got 1"),
    ],
)
def test_wrong_arguments_are_said(
    writes: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        state_explorer(writes, **options)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_a_key_is_written_again_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([state_explorer(kind="delta", width=16)], over=over)
    said = page.locator(".acw-said")
    page.get_by_role("button", name=re.compile("^b ")).click()
    expect(said).to_contain_text("Asked for b: 0, right")
    page.get_by_role("button", name="Write b again, with 3").click()
    expect(said).to_contain_text("7 pairs")
    expect(said).to_contain_text("Asked for b: 3, right (cosine 1.00)")
    page.get_by_role("button", name="Take the last pair back").press("Enter")
    expect(said).to_contain_text("6 pairs")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    writes = [(key, key % 10) for key in range(24)]
    page = open_page(
        [state_explorer(writes, kind="fade", width=32)], theme=theme, scheme=scheme, width=width
    )
    assert_readable(page, width)
    page.get_by_role("combobox", name="memory").select_option("softmax")
    expect(page.locator(".acw-said")).to_contain_text("The cache holds 6,144 bytes")
    assert_readable(page, width)
