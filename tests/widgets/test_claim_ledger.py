"""What claim_ledger accepts, refuses and shows, in Python and on a page without a kernel."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.claims import ledger, timeline
from course_utils.widgets import claim_ledger

Show = Callable[..., Page]


def test_it_opens_on_all_claims_with_what_was_found() -> None:
    widget = claim_ledger(ledger(), timeline(), found={"01-06": "409,600 B"})
    (found,) = (claim for claim in widget.claims if "found" in claim)
    assert (found["id"], found["found"]) == ("01-06", "409,600 B")
    assert [claim["id"] for claim in widget.claims] == [claim["id"] for claim in ledger()]
    assert repr(widget) == (
        f"ClaimLedger({len(ledger())} claims, {len(timeline())} entries of a timeline)"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"verdict": "right"}, "verdict must be one of wrong, corrected, .*got 'right'"),
        ({"how": "guessed"}, "how must be one of computed, .*got 'guessed'"),
    ],
)
def test_wrong_arguments_are_said(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        claim_ledger(ledger(), **options)


def test_no_claims_are_said() -> None:
    with pytest.raises(ValueError, match="claims must be at least one, got none"):
        claim_ledger([])


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_words_and_chapters_filter_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([claim_ledger(ledger(), timeline())], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text(f"{len(ledger())} of {len(ledger())} claims")
    page.get_by_label("words").fill("33.6 MFLOP")
    expect(said).to_contain_text("1 of ")
    page.get_by_role("button", name="09-14").click()
    expect(page.locator(".acw-open")).to_contain_text("33.6 MFLOP")
    page.get_by_role("button", name="Show all").click()
    page.get_by_label("chapter").select_option("07")
    rotary = page.get_by_role("button", name="rotary positions", exact=False).first
    expect(rotary).to_have_attribute("aria-pressed", "true")
    rotary.hover()
    expect(page.locator(".acw-cited")).to_contain_text("RoFormer")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    widget = claim_ledger(ledger(), timeline(), chapter="03", verdict="wrong")
    page = open_page([widget], theme=theme, scheme=scheme, width=width)
    page.locator("tbody tr:not([hidden]) button").first.click()
    assert_readable(page, width)
