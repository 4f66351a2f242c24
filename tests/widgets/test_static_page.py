"""Both widgets in Chromium, on a page without a kernel, as the site shows them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from widget_page import assert_readable, hovered

from course_utils.widgets import Heatmap, heatmap, scale_explorer

pytestmark = pytest.mark.browser
Show = Callable[..., Page]
TOKENS = ["the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired"]


def weights(*shape: int) -> np.ndarray:
    scores = np.random.default_rng(0).normal(size=shape) * 1.5
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sentence_map(**more: Any) -> Heatmap:
    return heatmap(weights(2, 4, 10, 10), TOKENS, TOKENS, title="A sentence", **more)


def bare(text: str) -> str:
    """Text without the marks that keep tokens apart."""
    return re.sub("[\u2068\u2069]", "", text)


@pytest.mark.parametrize("over", ["http", "file"])
def test_the_heatmap_lives_without_a_kernel(open_page: Show, over: str) -> None:
    widget = sentence_map()
    page = open_page([widget], over=over)
    page.get_by_role("radio", name="Head 3").check()
    page.get_by_role("combobox", name="Layer").select_option("Layer 1")
    canvas = page.locator(".acw-plot canvas")
    wide = (canvas.bounding_box() or {})["width"]
    canvas.hover(position={"x": 0.15 * wide, "y": 2})
    first = weights(2, 4, 10, 10)[1, 3, 0]
    text = bare(page.locator(".acw-readout").inner_text())
    shown = [float(number) for number in re.findall(r"\d\.\d+", text)]
    assert shown == pytest.approx([first[1], first.max()], rel=0.005)
    assert f"'{TOKENS[int(first.argmax())]}' ({first.argmax()})" in text


def test_keyboard_alone_reaches_and_uses_everything(open_page: Show) -> None:
    page = open_page([sentence_map(), scale_explorer()])
    reached = []
    for _ in range(15):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(e => `${e.tagName} ${e.type ?? e.getAttribute('role') ?? ''}`)"
                "(document.activeElement)"
            )
        )
        outline = page.evaluate(
            "(e => getComputedStyle(e.type === 'radio' ? e.closest('label') : e).outlineWidth)"
            "(document.activeElement)"
        )
        assert outline == "3px", reached
        if reached[-1].startswith("DIV"):
            for key in ("End", "ArrowDown", "PageDown", "ArrowLeft"):
                page.keyboard.press(key)
            expect(page.locator(".acw-readout")).to_contain_text("query")
            assert bare(page.locator(".acw-readout").inner_text()).startswith(
                "query 'tired' (9) attends"
            )
        if reached[-1] == "INPUT radio":
            page.keyboard.press("ArrowRight")
            expect(page.get_by_role("radio", name="Head 1")).to_be_checked()
            page.keyboard.press("ArrowLeft")
        if reached[-1].startswith("SUMMARY"):
            page.keyboard.press("Enter")
    assert reached == [
        *["SELECT select-one"] * 3, *["BUTTON button"] * 2, "DIV application", "INPUT radio",
        "SUMMARY ", "INPUT range", "INPUT checkbox", "BUTTON button", *["INPUT range"] * 2,
        "SUMMARY ", reached[-1],
    ]  # fmt: skip
    assert page.locator("details[open]").count() == 2
    assert page.locator(".acw-explorer details tbody tr").count() == 11


@pytest.mark.parametrize(
    ("theme", "scheme", "width"),
    [("light", "dark", 900), ("dark", "light", 900), (None, "light", 390), (None, "dark", 390)],
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str | None, scheme: str, width: int
) -> None:
    odd = heatmap([[0.5, np.nan, -2.0]], ["قطة"], ["a", "b", "long " * 9], title="Odd")
    page = open_page(
        [sentence_map(), odd, scale_explorer(d_k=64)], theme=theme, scheme=scheme, width=width
    )
    for summary in page.locator("summary").all():
        summary.click()
    paper = page.evaluate("getComputedStyle(document.querySelector('.acw')).backgroundColor")
    dark = theme == "dark" or (theme is None and scheme == "dark")
    assert paper == ("rgb(21, 25, 31)" if dark else "rgb(255, 255, 255)")
    assert_readable(page, width)


def test_hover_over_8_heads_of_512_repaints_nothing(open_page: Show) -> None:
    paints, changes = hovered(open_page([heatmap(weights(8, 512, 512))]))
    assert (paints, min(changes) > 0) == (0, True)
    assert max(changes) <= max(hovered(open_page([heatmap(weights(8, 16, 16))]))[1])


def test_pictures_are_saved_without_a_kernel(open_page: Show, tmp_path: Path) -> None:
    page = open_page([sentence_map(), heatmap(weights(100, 90))], theme="dark")
    for index, name in enumerate(["a-sentence-layer-0-head-0", "heatmap"]):
        root = page.locator(".acw").nth(index)
        with page.expect_download() as svg:
            root.get_by_role("button", name="Save SVG").click()
        with page.expect_download() as png:
            root.get_by_role("button", name="Save PNG").click()
        assert (svg.value.suggested_filename, png.value.suggested_filename) == (
            f"{name}.svg",
            f"{name}.png",
        )
        svg.value.save_as(tmp_path / "saved.svg")
        png.value.save_as(tmp_path / "saved.png")
        drawn = ElementTree.parse(tmp_path / "saved.svg").getroot()
        picture = Image.open(tmp_path / "saved.png").convert("RGB")
        width, height = (float(drawn.attrib[side]) for side in ("width", "height"))
        assert picture.size == pytest.approx((2 * width, 2 * height), abs=2)
        assert picture.getpixel((2, 2)) == (255, 255, 255)
        assert len(picture.getcolors(2**20) or []) > 100


def test_shapes_and_values_at_the_edges_are_drawn(open_page: Show) -> None:
    nothing = np.full((2, 300), np.nan)
    mixed = np.array([[np.inf, -np.inf, 1e30], [np.nan, 0, -1e30]])
    some = [[[1.0]], nothing, mixed, weights(3, 1, 700), weights(900, 1), np.zeros((2, 5))]
    page = open_page([heatmap(values) for values in some], width=390)
    for root in page.locator(".acw").all():
        root.locator(".acw-plot canvas").hover(position={"x": 3, "y": 3})
        root.locator(".acw-plot").press("Control+End")
        assert root.locator(".acw-readout").inner_text().endswith(".")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_several_on_a_page_do_not_touch_each_other(open_page: Show) -> None:
    same = scale_explorer()
    page = open_page([same, same, scale_explorer(d_k=256), sentence_map(), sentence_map()])
    said = page.locator(".acw-said")
    page.get_by_label("d_k", exact=True).nth(0).press("End")
    expect(said.nth(0)).to_contain_text("d_k = 1024")
    expect(said.nth(1)).to_contain_text("d_k = 1024")
    expect(said.nth(2)).to_contain_text("d_k = 256")
    page.get_by_role("radio", name="Head 2").nth(0).check()
    expect(page.get_by_role("radio", name="Head 0").nth(1)).to_be_checked()


def test_print_leaves_the_picture_and_drops_the_controls(open_page: Show) -> None:
    page = open_page([sentence_map(), scale_explorer()], theme="dark")
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Save PNG")).to_be_hidden()
    expect(page.locator(".acw-plot")).to_be_visible()
    paper = page.evaluate("getComputedStyle(document.querySelector('.acw')).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
