"""What wiring_explorer accepts, refuses and shows, in Python and on a page without a kernel."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import wiring_explorer_cases as shared
from playwright.sync_api import Page, expect
from torch import Tensor
from widget_page import assert_readable

from course_utils.models import DecoderLayer, EncoderLayer
from course_utils.widgets import wiring_explorer

Show = Callable[..., Page]


def test_it_opens_as_an_encoder_and_a_decoder() -> None:
    assert repr(wiring_explorer()) == "WiringExplorer(t5, pre-norm, 2 layers)"
    assert repr(wiring_explorer(wiring="gpt", pre_norm=False, num_layers=3)) == (
        "WiringExplorer(gpt, post-norm, 3 layers)"
    )


def test_every_trait_that_the_page_reads_is_sent() -> None:
    widget = wiring_explorer()
    listed = re.search(r"TRAITS = \[(.*?)\]", widget._esm)
    assert listed is not None
    assert set(re.findall(r"\w+", listed[1])) <= set(widget.get_state())


def test_the_shared_cases_are_what_python_computes() -> None:
    assert shared.PATH.read_text(encoding="utf-8") == shared.text()


def test_the_cases_hold_what_is_hard() -> None:
    views = [json.loads(line.rstrip(","))["view"] for line in shared.text().splitlines()[1:-1]]
    assert {view["wiring"] for view in views} == {"bert", "gpt", "prefix", "t5", "stub"}
    assert any(view["pads"] == view["num_source"] for view in views)
    assert any(view["window"] == 1 for view in views)


def outputs(view: dict[str, Any], x: Tensor) -> Tensor:
    """Run the course's own layers under the masks of a wiring."""
    S, pre_norm = view["num_source"], view["pre_norm"]
    encoder, *rest = shared.masks(view)
    numbers = range(view["num_layers"])
    readers = [EncoderLayer(8, 2, 16, pre_norm=pre_norm).double() for _ in numbers]
    writers = [DecoderLayer(8, 2, 16, pre_norm=pre_norm).double() for _ in numbers]
    memory, stream = (x, None) if not rest else (x[:, :S], x[:, S:])
    for layer in readers:
        memory = layer(memory, encoder)
    if stream is None:
        return memory
    for layer in writers:
        stream = layer(stream, memory, *rest)
    return torch.cat([memory, stream], dim=1)


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize(
    "changes", [one for one in shared.CHANGES if one.get("wiring") != "stub"], ids=str
)
def test_what_lights_up_is_what_has_a_gradient_in_the_layers(
    changes: dict[str, Any], pre_norm: bool
) -> None:
    view = shared.USUAL | changes | {"pre_norm": pre_norm}
    size = view["num_source"] + view["num_target"]
    torch.manual_seed(0)
    x = torch.randn(1, size, 8, dtype=torch.float64, requires_grad=True)
    out = outputs(view, x)
    toward = torch.randn(8, dtype=torch.float64)
    rows = [torch.autograd.grad(row @ toward, x, retain_graph=True)[0] for row in out[0]]
    reached = torch.stack([row[0].abs().amax(dim=-1) > 0 for row in rows])
    assert torch.equal(reached, shared.counts(view) > 0)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"source": "le chat"}, TypeError, "source must be a sequence of strings, got 'le chat'"),
        ({"target": []}, ValueError, "target must be 1 to 6 words, got 0"),
        ({"source": ["a"] * 7}, ValueError, "source must be 1 to 6 words, got 7"),
        ({"wiring": "llama"}, ValueError, "wiring must be one of bert, gpt, .*, got 'llama'"),
        ({"heads": 2}, TypeError, "sizes must be among num_layers, .*, got 'heads'"),
        ({"num_layers": 7}, ValueError, "num_layers must be from 1 to 6, got 7"),
        ({"num_layers": 2.0}, TypeError, "num_layers must be an int, got float"),
        ({"pads": 6}, ValueError, "pads must be from 0 to 5, got 6"),
        ({"num_source": 0}, ValueError, "num_source must be from 1 to 5, got 0"),
        ({"window": -1}, ValueError, "window must be from 0 to 6, got -1"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        wiring_explorer(**arguments)


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    page = open_page([wiring_explorer()], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text("The place that writes “sleeps”, after 2 layers: 8 of 10")
    page.get_by_role("button", name="output the (5)").click()
    expect(said).to_contain_text("6 of 10 inputs reach it")
    expect(said).to_contain_text("Dark: “the”, “cat”, “sleeps”, “well”.")
    page.get_by_role("combobox", name="wiring").select_option("stub")
    expect(said).to_contain_text("Lit: “start”, “the”, “cat”, “sleeps”, “well”.")
    page.get_by_role("combobox", name="order").select_option("post")
    expect(page.locator("figcaption").nth(3)).to_have_text("x ← norm₂(x + second(x))")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "scheme", "width"), [("light", "dark", 900), ("dark", "light", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, scheme: str, width: int
) -> None:
    words = [f"token{i}" for i in range(6)]
    shown = [wiring_explorer(pads=2), wiring_explorer(words, words, wiring="bert", num_layers=6)]
    page = open_page(shown, theme=theme, scheme=scheme, width=width)
    for summary in page.locator("summary").all():
        summary.click()
    assert_readable(page, width)
