"""What speculation_explorer accepts, refuses and shows, in Python and without a kernel."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import speculation_explorer_cases
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import speculation_explorer

Show = Callable[..., Page]


def test_it_opens_before_the_first_call() -> None:
    widget = speculation_explorer()
    assert repr(widget) == "SpeculationExplorer(gamma=4, 0 calls)"
    assert sum(widget.target) == sum(widget.draft) == 100
    shown = repr(speculation_explorer(gamma=2, rounds=9, from_target=True))
    assert shown == "SpeculationExplorer(gamma=2, 9 calls, drawn from p)"


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget = speculation_explorer()
    read = set(re.findall(r'model\.get\("(\w+)"\)', widget._esm))
    assert {*read, "from_target", "gamma", "stage"} <= set(widget.get_state())


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(speculation_explorer_cases.PATH.read_text(encoding="utf-8"))
    made = json.loads(json.dumps(speculation_explorer_cases.cases()))
    assert stored["moved"] == made["moved"]
    for kept, now in zip(stored["rounds"], made["rounds"], strict=True):
        was, law = kept.pop("longRun"), now.pop("longRun")
        assert was["shares"] == pytest.approx(law["shares"], abs=1e-12)
        assert (was["alpha"], was["perCall"]) == pytest.approx((law["alpha"], law["perCall"]))
        assert kept == now


def test_the_cases_hold_what_is_hard() -> None:
    rounds = speculation_explorer_cases.cases()["rounds"]
    alphas = [round(one["longRun"]["alpha"], 9) for one in rounds]
    assert {0, 1} < set(alphas)
    assert {one["state"]["from_target"] for one in rounds} == {True, False}
    assert {1, 6} <= {one["state"]["gamma"] for one in rounds}


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"target": [100]}, ValueError, r"target must be 8 percents .* sum to 100, got \[100\]"),
        ({"draft": [12] * 8}, ValueError, r"draft must be 8 percents .* sum to 100, got \[12,"),
        ({"draft": [-1, 101, *[0] * 6]}, ValueError, "draft must be 8 percents from 0 on"),
        ({"target": [12.5] * 8}, TypeError, r"target must be a sequence of ints, got \[12\.5"),
        ({"gamma": 0}, ValueError, "gamma must be from 1 to 6, got 0"),
        ({"gamma": 7}, ValueError, "gamma must be from 1 to 6, got 7"),
        ({"gamma": 2.0}, TypeError, "gamma must be an int, got float"),
        ({"seed": -1}, ValueError, "seed must be from 0 to 2147483647, got -1"),
        ({"rounds": 20000}, ValueError, "rounds must be from 0 to 19999, got 20000"),
        ({"from_target": 1}, TypeError, "from_target must be a bool, got int"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        speculation_explorer(**arguments)


def test_a_stage_that_no_call_has_is_refused() -> None:
    with pytest.raises(ValueError, match="stage must be from 0 to 7, got 8"):
        speculation_explorer().stage = 8


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_calls_are_made_without_a_kernel(open_page: Show, over: str) -> None:
    widget = speculation_explorer()
    state = speculation_explorer_cases.settings()
    drafted, accepted, last = speculation_explorer_cases.called(state, 1)[0]
    page = open_page([widget], over=over)
    said = page.locator(".acw-said")
    for place, token in enumerate(drafted[: accepted + 1], start=1):
        page.get_by_role("button", name="Step").click()
        word = "accepted" if place <= accepted else "refused"
        expect(said).to_contain_text(f"place {place} of 4: the draft says {'abcdefgh'[token]}.")
        expect(said).to_contain_text(f"{word}.")
    page.get_by_role("button", name="Step").press("Enter")
    expect(said).to_contain_text(f"is {'abcdefgh'[last]}. The call wrote {accepted + 1} tokens")
    assert accepted < 4


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"),
    [("light", "dark", 900), ("dark", "light", 900), (None, "light", 390), (None, "dark", 390)],
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str | None, scheme: str, width: int
) -> None:
    page = open_page([speculation_explorer(gamma=6)], theme=theme, scheme=scheme, width=width)
    assert_readable(page, width)
    page.get_by_role("button", name="Run 1000").click()
    expect(page.locator("th").first).to_have_text("after 1000 calls")
    page.get_by_role("checkbox").check()
    assert_readable(page, width)
