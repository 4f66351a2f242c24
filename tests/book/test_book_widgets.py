"""Widgets live on a page without a kernel, by http and from a folder."""

import base64
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.book.book_support import ROOT, Visit

CHAPTER = "notebooks/03_scaled_dot_product.html"

pytestmark = pytest.mark.browser


@pytest.fixture(params=["http", "file"])
def where(request: pytest.FixtureRequest, address: str, site: Path) -> str:
    """The site by http, then as it lies in its folder."""
    return address if request.param == "http" else site.as_uri()


def test_slider_changes_the_numbers(visit: Callable[..., Visit], where: str) -> None:
    seen = visit(f"{where}/{CHAPTER}")
    explorer = seen.page.get_by_role("group", name="d_k and temperature").first
    width = explorer.get_by_label("d_k", exact=True)
    explorer.get_by_text("As tables").click()
    numbers = explorer.locator(".acw-numbers")
    width.fill("0")
    before = numbers.inner_text()
    width.fill("10")
    expect(numbers).not_to_have_text(before)
    expect(explorer).to_contain_text("d_k = 1024")
    width.press("Home")
    expect(numbers).to_have_text(before, use_inner_text=True)
    assert (seen.outside, seen.errors) == ([], [])


def test_the_front_page_writes_the_date_that_is_typed(
    visit: Callable[..., Visit], where: str
) -> None:
    seen = visit(f"{where}/index.html")
    writer = seen.page.get_by_role("group", name="Date writer")
    writer.get_by_role("textbox").fill("15. kesäkuuta 1968")
    expect(writer.locator(".acw-written")).to_have_text("1968-06-15")
    writer.get_by_role("textbox").fill("never on Sunday")
    expect(writer.locator(".acw-sure")).to_contain_text("Unsure")
    assert (seen.outside, seen.errors) == ([], [])


def test_heatmap_reads_the_cell_below_the_pointer(visit: Callable[..., Visit], where: str) -> None:
    seen = visit(f"{where}/{CHAPTER}")
    heatmap = seen.page.locator(".acw-heatmap").first
    plot, readout = heatmap.locator(".acw-plot"), heatmap.locator(".acw-readout")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    for share in (0.35, 0.65):
        before = readout.inner_text()
        seen.page.mouse.move(box["x"] + share * box["width"], box["y"] + share * box["height"])
        expect(readout).not_to_have_text(before, use_inner_text=True)
        expect(readout).to_contain_text(re.compile(r"\d"))
    assert (seen.outside, seen.errors) == ([], [])


# The host by itself, on pages that hold what MyST-NB would put there.

COUNTER = """
export default {
  initialize({ model }) { model.initialised = (model.initialised ?? 0) + 1; },
  render({ model, el }) {
    const numbers = new Float32Array(model.get("numbers").buffer);
    const button = document.createElement("button");
    const text = () => `${model.get("count") * numbers[1]} ${model.initialised}`;
    const draw = () => (button.textContent = text());
    button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
    model.on("change:count", draw);
    el.append(button);
    draw();
  },
};
"""


def widget(esm: str, **state: object) -> dict[str, object]:
    return {"model_module": "anywidget", "model_name": "AnyModel", "state": {"_esm": esm, **state}}


def counter() -> dict[str, object]:
    data = base64.b64encode(struct.pack("<2f", 1.0, 2.5)).decode()
    binary = {"path": ["numbers"], "encoding": "base64", "data": data}
    return widget(COUNTER, count=1, _css=".counted { color: red }") | {"buffers": [binary]}


def host_page(folder: Path, states: dict[str, object], shown: list[str]) -> str:
    """Write a page that shows some widgets and return its address."""
    kind = "application/vnd.jupyter.widget-"
    script = (ROOT / "book" / "_static" / "anywidget-host.js").read_text(encoding="utf-8")
    parts = [f'<script type="{kind}state+json">{json.dumps({"state": states})}</script>']
    parts += [f'<script type="{kind}view+json">{{"model_id": "{i}"}}</script>' for i in shown]
    page = folder / "page.html"
    text = f"<!doctype html><body>{''.join(parts)}<script>{script}</script>"
    page.write_text(text, encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def shown(visit: Callable[..., Visit], tmp_path: Path) -> Callable[..., Page]:
    """Return a function that opens a page of the given widgets."""
    return lambda states, *ids: visit(host_page(tmp_path, states, list(ids))).page


def test_views_share_their_model_and_its_binary_values(shown: Callable[..., Page]) -> None:
    buttons = shown({"a": counter(), "b": counter()}, "a", "a", "b").locator("button")
    expect(buttons).to_have_text(["2.5 1", "2.5 1", "2.5 1"])
    buttons.first.click()
    expect(buttons).to_have_text(["5 1", "5 1", "2.5 1"])


def test_host_adds_a_style_once(shown: Callable[..., Page]) -> None:
    page = shown({"a": counter(), "b": counter()}, "a", "b")
    assert page.locator("style").count() == 1


@pytest.mark.parametrize(
    "esm",
    [
        "export default { render() { throw new Error('no') } }",
        "this is not a module",
        "export default 3",
    ],
)
def test_failing_widget_says_so_and_harms_no_other(shown: Callable[..., Page], esm: str) -> None:
    page = shown({"bad": widget(esm), "good": counter()}, "bad", "good")
    expect(page.locator("button")).to_have_text("2.5 1")
    expect(page.locator(".needs-kernel")).to_contain_text("could not be drawn here")


def test_control_that_needs_python_shows_its_last_result(shown: Callable[..., Page]) -> None:
    parts = {
        "box": {"children": ["IPY_MODEL_slider", "IPY_MODEL_out"]},
        "slider": {"description": "tau", "value": 3},
        "out": {"outputs": [{"output_type": "stream", "text": "x is 3\n"}]},
    }
    module = "@jupyter-widgets/controls"
    states = {name: {"model_module": module, "state": state} for name, state in parts.items()}
    text = shown(states, "box").locator(".needs-kernel").inner_text()
    assert "needs a running kernel" in text
    assert "tau 3" in text
    assert "x is 3" in text


def test_widget_without_its_state_says_so(shown: Callable[..., Page]) -> None:
    expect(shown({}, "lost").locator(".needs-kernel")).to_contain_text("saved without its state")
