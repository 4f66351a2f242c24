"""What mask_playground accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import mask_playground_cases as shared
import pytest
import torch
from playwright.sync_api import Page, expect
from widget_page import ROOT, assert_readable

from course_utils.widgets import mask_playground

Show = Callable[..., Page]


def test_it_opens_as_a_decoder() -> None:
    assert repr(mask_playground()) == "MaskPlayground(8 queries, 8 keys: causal)"
    assert repr(mask_playground(["a", "b"], on=(), num_queries=1)) == (
        "MaskPlayground(1 queries, 2 keys: no rule)"
    )


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget = mask_playground()
    listed = re.search(r"TRAITS = \[(.*?)\]", widget._esm)
    assert listed is not None
    assert set(re.findall(r"\w+", listed[1])) <= set(widget.get_state())


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(shared.PATH.read_text(encoding="utf-8"))
    for kept, made in zip(stored, shared.cases(), strict=True):
        for name in ("view", "mask", "packing"):
            assert kept[name] == made[name]
        weights = (torch.tensor(case["weights"], dtype=torch.float64) for case in (kept, made))
        torch.testing.assert_close(*weights)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_code_that_is_shown_makes_the_mask_that_is_shown() -> None:
    rules = ROOT / "course_utils" / "widgets" / "mask_playground_rules.js"
    program = f"""
        import {{ code }} from {json.dumps(str(rules))};
        const cases = JSON.parse(process.argv[1]);
        console.log(JSON.stringify(cases.map((one) => code(one.view))));
    """
    cases = shared.cases()
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program, json.dumps(cases)],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    for case, code in zip(cases, json.loads(done.stdout), strict=True):
        mask = torch.tensor(case["mask"], dtype=torch.bool)
        assert torch.equal(shared.run(code, (mask.shape[0], mask.shape[1])), mask), code


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"tokens": "the cat"}, TypeError, "tokens must be a sequence of strings, got 'the cat'"),
        ({"tokens": [1, 2]}, TypeError, r"tokens must be a sequence of strings, got \[1, 2\]"),
        ({"tokens": ["one"]}, ValueError, "tokens must be 2 to 12 words, got 1"),
        ({"on": "causal"}, TypeError, "on must be a sequence of strings, got 'causal'"),
        ({"on": ["local"]}, ValueError, r"on must hold names from causal, .*, got \['local'\]"),
        ({"offset": 1.0}, TypeError, r"offset must be an int, got float"),
        ({"offset": 9}, ValueError, "offset must be from -8 to 8, got 9"),
        ({"num_queries": 0}, ValueError, "num_queries must be from 1 to 8, got 0"),
        ({"num_queries": True}, TypeError, "num_queries must be an int, got bool"),
        ({"row": 8}, ValueError, "row must be from 0 to 7, got 8"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        mask_playground(**arguments)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("window", 1, 8), ("pads", 0, 8), ("second", 1, 7), ("third", 1, 8)]
)
def test_numbers_keep_to_the_tokens(name: str, low: int, high: int) -> None:
    widget = mask_playground()
    setattr(widget, name, high)
    with pytest.raises(ValueError, match=f"{name} must be from {low} to {high}, got {high + 1}"):
        setattr(widget, name, high + 1)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([mask_playground()], over=over)
    readout = page.locator(".acw-readout")
    expect(readout).to_contain_text("query 'sat' reads: the")
    page.locator(".acw-weights tbody tr").nth(5).hover()
    expect(readout).to_contain_text("query 'dog' reads")
    page.get_by_role("button", name="sat").focus()
    page.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("query 'up' reads: the")
    page.get_by_role("checkbox", name="window").check()
    page.get_by_role("slider", name="window: keys").fill("2")
    expect(readout).to_contain_text("Hidden: the, cat by window; my, dog, ran, off by causal")
    page.get_by_role("combobox", name="Example").select_option("a decoder, padded on the left")
    expect(readout).to_contain_text("reads nothing: its weights are zeros")
    expect(page.locator(".acw-packing")).to_be_hidden()
    page.get_by_role("checkbox", name="documents").check()
    packing = page.get_by_role("table", name="Pairs multiplied for documents of 4 and 4 tokens")
    expect(packing).to_contain_text("padded to the longest2 · 4²= 32")
    page.get_by_role("slider", name="third document at").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".acw-packing")).to_contain_text("each for itself4² + 3² + 1²= 26")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    long = [f"token{i}" for i in range(12)]
    shown = [mask_playground(), mask_playground(long, on=["causal", "padding", "documents"])]
    page = open_page(shown, theme=theme, scheme=scheme, width=width)
    for summary in page.locator("summary").all():
        summary.click()
    assert_readable(page, width)
