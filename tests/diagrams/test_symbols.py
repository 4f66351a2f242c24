"""The symbols, and what they promise every diagram: colours, letters, words, room."""

import ast
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from course_utils import diagrams
from course_utils.diagrams import Diagram, diagram
from course_utils.diagrams.symbols import ACCENTS, PHONE, WIDTH

DRAWN = diagrams.chapters()
OUTSIDE = """(svg) => {
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  return [...svg.querySelectorAll("text, rect, path, circle")].filter((part) => {
    const { x, y, width: w, height: h } = part.getBBox();
    return x < 0 || y < 0 || x + w > width || y + h > height;
  }).map((part) => part.outerHTML);
}"""
OVERLAPS = """(svg) => {
  const texts = [...svg.querySelectorAll("text")].map((one) => [one, one.getBBox()]);
  const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
    && a.y + 3 < b.y + b.height && b.y + 3 < a.y + a.height;
  return texts.flatMap(([one, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b))
    .map(([other]) => `${one.textContent} | ${other.textContent}`));
}"""


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("ground", ["#ffffff", "#14181e"])
@pytest.mark.parametrize("accent", ACCENTS.values())
def test_accents_are_seen_on_both_grounds(accent: str, ground: str) -> None:
    dark, light = sorted([luminance(accent), luminance(ground)])
    assert (light + 0.05) / (dark + 0.05) >= 3


def test_subscripts_are_lowered_and_the_line_comes_back() -> None:
    d = Diagram("A title.", "Words.", 40)
    d.text(0, 20, "(B, H_kv, n) & W_Q")
    (text,) = ElementTree.fromstring(d.svg().replace("&amp;", "and"))
    assert "".join(text.itertext()) == "(B, Hkv, n) and WQ"
    assert [span.get("dy") for span in text] == ["3.5", "-3.5", "3.5"]


def test_an_arrow_ends_in_a_tip_and_carries_its_shape() -> None:
    d = Diagram("A title.", "Words.", 100)
    d.arrow((10, 10), (10, 90), label="(L, S)")
    line, tip, label = ElementTree.fromstring(d.svg())
    assert line.get("d") == "M10 10L10 90"
    assert "L10 90L" in str(tip.get("d"))
    assert (label.text, label.get("x")) == ("(L, S)", "17")


def test_a_table_has_the_cells_that_its_letters_say() -> None:
    d = Diagram("A title.", "Words.", 100)
    d.table(0, 0, ["bo.", "..."], 10)
    fills = [cell.get("fill") for cell in ElementTree.fromstring(d.svg())]
    assert fills == [ACCENTS["blue"], ACCENTS["orange"], *[None] * 4]


def test_a_chapter_without_a_diagram_is_refused() -> None:
    with pytest.raises(ValueError, match=r"chapter must be one of 01, 02, .*, got '3'"):
        diagram("3")


@pytest.mark.parametrize("chapter", DRAWN)
def test_a_diagram_is_drawn_with_the_symbols_in_the_pages_ink(chapter: str) -> None:
    drawn = diagram(chapter)
    svg = drawn.svg()
    assert set(re.findall(r"(?<!&)#\w+|rgb\(|url\(|black|white", svg)) <= set(ACCENTS.values())
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
    assert min(sizes) * PHONE / WIDTH >= 9.5
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert len(str(root.get("aria-label")).split()) >= 40
    assert str(drawn).splitlines() == [drawn.title, root.get("aria-label")]
    source = Path(diagrams.__file__).with_name(f"{DRAWN[chapter]}.py").read_text(encoding="utf-8")
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in imports] == ["course_utils.diagrams.symbols"]
    assert "<" not in source


@pytest.mark.browser
def test_every_diagram_has_room_for_its_letters(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    for chapter in DRAWN:
        page.set_content(f"<body style='font: 16px sans-serif'>{diagram(chapter)._repr_html_()}")
        svg = page.locator("svg")
        assert svg.evaluate(OUTSIDE) == [], chapter
        assert svg.evaluate(OVERLAPS) == [], chapter
    page.close()
