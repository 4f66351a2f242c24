"""Words of the glossary in the chapters: linked once, and explained where they stand."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from book import words
from tests.book.book_axe import AXE, RUN_AXE
from tests.book.book_support import Visit, pages

PAGE = "notebooks/05_multi_head.html"


def test_entries_are_plain_html() -> None:
    entries = words.entries()
    assert entries["FLOP"].count(r'<span class="math">\(') == 2
    assert "<code>attn_mask</code>" in entries["attention mask"]
    for term, entry in entries.items():
        assert not re.search(r"[$`{]cite|\*|:::", entry.replace(r"\ast", "")), term


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Scaled dot-product attention of queries", ["Scaled dot-product attention"]),
        ("a group, the adam, a gru", []),
        ("tiles, GRUs and subkey", ["tile", "GRU"]),
        ("self-attention, not re-query", ["self-attention"]),
    ],
)
def test_the_longest_word_is_found_and_names_only_as_they_are_written(
    text: str, found: list[str]
) -> None:
    assert words.pattern().findall(text) == found


@pytest.mark.browser
@pytest.mark.parametrize("name", [name for name in pages() if name.startswith("notebooks/0")][1:])
def test_a_page_links_a_word_once_and_has_its_entry(site: Path, name: str) -> None:
    text = (site / name).read_text(encoding="utf-8")
    linked = re.findall(r'href="\.\./glossary\.html#(term-[^"]+)"[^>]*><span class="xref', text)
    (kept,) = re.findall(r'<script type="application/json" id="words">(.*?)</script>', text)
    assert len(linked) > 5
    assert sorted(linked) == sorted(json.loads(kept))


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark", "phone"])
def test_an_entry_is_shown_by_pointer_and_focus(
    visit: Callable[..., Visit], address: str, mode: str
) -> None:
    seen = visit(f"{address}/{PAGE}", mode)
    tip = seen.page.locator("#word-tip")
    word = seen.page.locator("a.word[href$='#term-fused-projection']")
    word.focus()
    expect(tip).to_contain_text("instead of three")
    expect(tip.locator("mjx-container")).to_have_count(1)
    expect(word).to_have_accessible_description(re.compile("instead of three"))
    box, width = tip.bounding_box(), seen.page.viewport_size["width"]
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    seen.page.add_script_tag(path=AXE)
    assert seen.page.evaluate(RUN_AXE, {"runOnly": ["wcag2a", "wcag2aa", "best-practice"]}) == []
    seen.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    word.hover()
    tip.hover()
    expect(tip).to_be_visible()
    seen.page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    assert (seen.outside, seen.errors) == ([], [])
