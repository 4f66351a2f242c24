"""Heatmaps and the scale explorer in Chromium, without a kernel, as the site shows them."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from course_utils.widgets import Heatmap, heatmap, scale_explorer
from tests.widgets.widget_page import assert_readable, hovered

pytestmark = pytest.mark.browser
Show = Callable[..., Page]
TOKENS = ["the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired"]


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    powers = np.exp(1.5 * np.random.default_rng(seed).normal(size=shape))
    return powers / powers.sum(-1, keepdims=True)


def sentence_map() -> Heatmap:
    return heatmap(weights(2, 4, 10, 10), TOKENS, TOKENS, title="A sentence")


def compared(view: str, length: int = 10) -> Heatmap:
    before, after = (weights(2, length, length, seed=seed) for seed in (0, 1))
    tokens = TOKENS if length == len(TOKENS) else None
    names = ("before", "after")
    return heatmap(
        before, tokens, tokens, other=after, pair_names=names, title="Training", view=view
    )


def test_focus_is_seen_wherever_tab_leads(open_page: Show) -> None:
    page = open_page([sentence_map(), scale_explorer()])
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        kind, outline = page.evaluate(
            """() => {
                const e = document.activeElement;
                const marked = e.type === "radio" ? e.closest("label") : e;
                const kind = e.type ?? e.getAttribute("role") ?? e.tagName;
                return [kind, getComputedStyle(marked).outlineWidth];
            }"""
        )
        reached.append(kind)
        assert outline == "3px", reached
    assert reached == [
        *["select-one"] * 3, *["button"] * 2, "application", "radio", "SUMMARY",
        "range", "checkbox", *["SUMMARY"] * 2,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("theme", "scheme", "width"),
    [("light", "dark", 900), ("dark", "light", 900), (None, "light", 390), (None, "dark", 390)],
)
def test_the_theme_is_the_page_s_or_else_the_reader_s_and_axe_finds_nothing(
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


@pytest.mark.parametrize(
    "shown",
    [
        lambda length: heatmap(weights(8, length, length)),
        lambda length: compared("side", length),
        lambda length: compared("difference", length),
    ],
    ids=["one map", "side", "difference"],
)
def test_hover_over_maps_of_512_repaints_nothing(
    open_page: Show, shown: Callable[[int], Heatmap]
) -> None:
    paints, changes = hovered(open_page([shown(512)]))
    assert (paints, min(changes) > 0) == (0, True)
    assert max(changes) <= max(hovered(open_page([shown(16)]))[1])


@pytest.mark.parametrize(
    ("shown", "name", "maps"),
    [
        (sentence_map, "a-sentence-layer-0-head-0", []),
        (lambda: heatmap(weights(100, 90)), "heatmap", []),
        (lambda: compared("side"), "training-head-0-before-and-after", ["before", "after"]),
        (lambda: compared("difference"), "training-head-0-after-before", ["after − before"]),
    ],
    ids=["sentence", "large", "side", "difference"],
)
def test_a_picture_is_saved_as_it_is_shown(
    open_page: Show, tmp_path: Path, shown: Callable[[], Heatmap], name: str, maps: list[str]
) -> None:
    page = open_page([shown()], theme="dark")
    for kind in ("svg", "png"):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Save {kind.upper()}").click()
        assert saved.value.suggested_filename == f"{name}.{kind}"
        saved.value.save_as(tmp_path / f"saved.{kind}")
    drawn = ElementTree.parse(tmp_path / "saved.svg").getroot()
    assert [one.text for one in drawn.iter() if one.attrib.get("class") == "name"] == maps
    with Image.open(tmp_path / "saved.png") as opened:
        picture = opened.convert("RGB")
    assert picture.size == pytest.approx(
        [2 * float(drawn.attrib[side]) for side in ("width", "height")], abs=2
    )
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
        expect(root.locator(".acw-readout")).to_have_text(re.compile(r"\.$"))
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_pointing_at_either_map_marks_the_cell_in_both(open_page: Show) -> None:
    page = open_page([compared("side")])
    maps = page.locator(".acw-map")
    for shown in maps.all():
        box = shown.locator("canvas").bounding_box() or {}
        page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.15 * box["height"])
        expect(page.locator(".acw-readout")).to_contain_text("query \u2068'cat'\u2069 (1) to key")
        expect(maps.locator(".here")).to_have_count(2)
        expect(maps.locator(".tag text")).to_have_text(["cat", "it"] * 2)


@pytest.mark.parametrize(("width", "beside"), [(900, True), (390, False)])
def test_maps_stand_beside_each_other_where_there_is_room(
    open_page: Show, width: int, beside: bool
) -> None:
    page = open_page([compared("side")], width=width)
    tops = [(one.bounding_box() or {})["y"] for one in page.locator(".acw-map").all()]
    assert (tops[0] == tops[1]) is beside


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
