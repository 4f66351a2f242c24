"""Two maps of a heatmap compared in Chromium: side by side, as a difference, and saved."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from widget_page import assert_readable, hovered

from course_utils.widgets import Heatmap, heatmap

pytestmark = pytest.mark.browser
Show = Callable[..., Page]
TOKENS = ["the", "cat", "sat", "on", "the", "mat"]


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    powers = np.exp(np.random.default_rng(seed).normal(size=shape))
    return powers / powers.sum(-1, keepdims=True)


def before_and_after(view: str = "side", shape: tuple[int, ...] = (2, 6, 6)) -> Heatmap:
    return heatmap(
        weights(*shape), TOKENS, TOKENS, other=weights(*shape, seed=1),
        pair_names=("before", "after"), title="Training", view=view,
    )  # fmt: skip


def test_pointing_at_either_map_marks_the_cell_in_both(open_page: Show) -> None:
    page = open_page([before_and_after()])
    maps = page.locator(".acw-map")
    for shown in maps.all():
        box = shown.locator("canvas").bounding_box() or {}
        page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
        expect(page.locator(".acw-readout")).to_contain_text("query \u2068'cat'\u2069 (1) to key")
        expect(maps.locator(".here")).to_have_count(2)
        expect(maps.locator(".tag text")).to_have_text(["cat", "the", "cat", "the"])


@pytest.mark.parametrize(("width", "beside"), [(900, True), (390, False)])
def test_maps_stand_beside_each_other_where_there_is_room(
    open_page: Show, width: int, beside: bool
) -> None:
    page = open_page([before_and_after()], width=width)
    tops = [(one.bounding_box() or {})["y"] for one in page.locator(".acw-map").all()]
    assert (tops[0] == tops[1]) is beside


@pytest.mark.parametrize("view", ["side", "difference"])
def test_what_is_compared_is_saved_as_it_is_shown(
    open_page: Show, tmp_path: Path, view: str
) -> None:
    page = open_page([before_and_after(view)])
    for kind in ("SVG", "PNG"):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Save {kind}").click()
        saved.value.save_as(tmp_path / f"saved.{kind}")
    name = {"side": "before-and-after", "difference": "after-before"}[view]
    assert saved.value.suggested_filename == f"training-head-0-{name}.png"
    drawn = ElementTree.parse(tmp_path / "saved.SVG").getroot()
    names = [one.text for one in drawn.iter() if one.attrib.get("class") == "name"]
    assert names == (["before", "after"] if view == "side" else ["after − before"])
    size = [float(drawn.attrib[side]) for side in ("width", "height")]
    with Image.open(tmp_path / "saved.PNG") as picture:
        assert picture.size == pytest.approx([2 * one for one in size], abs=2)


@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, theme: str, width: int
) -> None:
    page = open_page([before_and_after(), before_and_after("difference")], theme=theme, width=width)
    for summary in page.locator("summary").all():
        summary.click()
    assert_readable(page, width)


@pytest.mark.parametrize("view", ["side", "difference"])
def test_two_maps_of_512_are_painted_for_another_head_and_not_for_a_hover(
    open_page: Show, view: str
) -> None:
    large = heatmap(weights(2, 512, 512), other=weights(2, 512, 512, seed=1), view=view)
    page = open_page([large])
    paints, changes = hovered(page)
    assert (paints, min(changes) > 0) == (0, True)
    page.get_by_role("radio", name="Head 1").check()
    small = open_page([heatmap(weights(2, 16, 16), other=weights(2, 16, 16, seed=1), view=view)])
    assert max(changes) <= max(hovered(small)[1])
