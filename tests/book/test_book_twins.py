"""Figures in light and dark: on the page, one of the two is there, and only one is told."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbformat
import pytest
from matplotlib import pyplot as plt
from playwright.sync_api import Page

from book import twins
from course_utils import plotting
from course_utils.dark_colours import DARK_INK, DARK_PAPER
from course_utils.dark_figures import MIME, dark_twin
from tests.book.book_support import NOTEBOOK, Visit, build, small_course

ALT = "A line that rises"
ALONE = "A line without a twin"
# Of the figures that are seen: which theme's they are, and whether something is left of the theme's
# card for pictures in dark mode.
SEEN = """() => [...document.querySelectorAll(".cell_output img")]
    .filter((image) => image.checkVisibility()).map((image) => {
        const { backgroundColor, filter, padding } = getComputedStyle(image);
        const none = ["rgba(0, 0, 0, 0)", "none", "0px"];
        const card = [backgroundColor, filter, padding].join() !== none.join();
        return [image.alt, image.className, card, image.complete && image.naturalWidth > 0];
    })"""
LIGHT = [[ALT, "only-light", False, True], [ALONE, "", False, True]]
DARK = [[ALT, "only-dark", False, True], [ALONE, "", True, True]]
NUMBERS = """() => [...document.querySelectorAll(".cell_output > a")]
    .filter((link) => link.checkVisibility()).map((link) => link.getAttribute("href"))"""

pytestmark = pytest.mark.browser


def drawn() -> tuple[str, str]:
    """Return a figure and its twin, as a notebook stores them."""
    with mpl.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        plotting.use_style()
        axes = plotting.new_figure("It rises", "x", "y")
        plotting.line(axes, [0, 1], [0, 1], "line", "blue")
        light = BytesIO()
        axes.figure.savefig(light, dpi=200, bbox_inches="tight")
        twin = dark_twin(axes.figure)
        plt.close("all")
    return b64encode(light.getvalue()).decode(), b64encode(twin).decode()


def cell(name: str, alt: str, data: dict[str, str]) -> dict[str, Any]:
    size = {"width": 560, "height": 340}
    output = nbformat.v4.new_output("display_data", data, metadata={"image/png": size})
    shown = nbformat.v4.new_code_cell("draw()", id=name, outputs=[output], execution_count=1)
    shown.metadata["mystnb"] = {"image": {"alt": alt}}
    return shown


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """A notebook of two figures, the first with its twin."""
    light, dark = drawn()
    both = cell("b", ALT, {"image/png": light, MIME: dark})
    alone = cell("c", ALONE, {"image/png": b64encode(b64decode(light) + b"\0").decode()})
    language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    return NOTEBOOK | {
        "cells": [*NOTEBOOK["cells"], both, alone],
        "metadata": NOTEBOOK["metadata"] | language,
    }


@pytest.fixture(scope="module")
def page_address(
    tmp_path_factory: pytest.TempPathFactory,
    figures: dict[str, Any],
    serve: Callable[[Path], str],
) -> str:
    """The address of a page with those figures."""
    root = tmp_path_factory.mktemp("figures")
    small_course(root)
    for folder in ("notebooks", "solutions"):
        (root / folder / "a.ipynb").write_text(json.dumps(figures), encoding="utf-8")
    done = build(root)
    assert done.returncode == 0, done.stdout + done.stderr
    return f"{serve(root / '_build' / 'html')}/notebooks/a.html"


def seen_by_ear(page: Page) -> list[int]:
    """Return how many pictures are told under each of the two texts."""
    return [page.get_by_role("img", name=alt, exact=True).count() for alt in (ALT, ALONE)]


def scrolled(page: Page) -> None:
    """Let pictures that wait to be seen load."""
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize(("mode", "seen"), [("light", LIGHT), ("dark", DARK), ("phone", LIGHT)])
def test_a_page_shows_the_figure_of_its_mode(
    visit: Callable[..., Visit], page_address: str, mode: str, seen: list[Any]
) -> None:
    page = visit(page_address, mode).page
    scrolled(page)
    assert page.evaluate(SEEN) == seen
    assert seen_by_ear(page) == [1, 1]
    links = page.evaluate(NUMBERS)  # each says the figure's number below it
    assert [("-dark.png" in link) for link in links] == [mode == "dark", False]


def test_the_theme_s_button_changes_the_figure(
    visit: Callable[..., Visit], page_address: str
) -> None:
    page = visit(page_address, "light").page
    page.get_by_role("button", name="Color mode").first.click()
    page.get_by_role("button", name="Dark", exact=True).first.click()
    scrolled(page)
    assert page.evaluate(SEEN) == DARK


def test_paper_gets_the_light_figure(visit: Callable[..., Visit], page_address: str) -> None:
    page = visit(page_address, "dark").page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(SEEN) == LIGHT
    assert seen_by_ear(page) == [1, 1]


def test_a_light_page_asks_for_no_twin(visit: Callable[..., Visit], page_address: str) -> None:
    page = visit(page_address, "light").page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    scrolled(page)
    assert any(url.endswith(".png") for url in asked)
    assert not [url for url in asked if url.endswith("-dark.png")]


def test_a_twin_has_the_dark_page_s_own_ground_and_ink(
    visit: Callable[..., Visit], page_address: str
) -> None:
    page = visit(page_address, "dark").page
    read = "(name) => getComputedStyle(document.body)[name]"
    colours = [page.evaluate(read, name) for name in ("backgroundColor", "color")]
    rgb = [[round(255 * part) for part in mpl.colors.to_rgb(c)] for c in (DARK_PAPER, DARK_INK)]
    assert colours == [f"rgb({', '.join(map(str, parts))})" for parts in rgb]


def test_a_twin_is_taken_out_of_the_page_s_source(figures: dict[str, Any]) -> None:
    notebook = nbformat.from_dict(figures)
    (found,) = twins.taken_out(notebook).items()
    assert found[1] == b64decode(figures["cells"][1]["outputs"][0]["data"][MIME])
    outputs = [output for cell in notebook.cells[1:] for output in cell.outputs]
    assert [set(output.data) for output in outputs] == [{"image/png"}, {"image/png"}]
    assert ["dark" in output.metadata for output in outputs] == [True, False]
    assert twins.taken_out(notebook) == {}
