"""The site on paper: one file, with an outline, and links that stay inside."""

import io
from pathlib import Path

import pytest
from pypdf import PdfReader

from book import pdf

PAGE = """<!doctype html><html lang="en"><head><title>{0}</title></head><body><article>
<h1>{0}</h1><h2 style="width: 12em">A heading that is long enough for two lines</h2>
<p><a href="{1}">another page</a> <a href="https://example.org/">elsewhere</a>
<a href="lost.zip">a file that is not printed</a></p></article></body></html>"""

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


@pytest.fixture
def printed(tmp_path: Path, browser: object) -> PdfReader:
    """Two pages that name each other, printed and joined."""
    names = [("a.html", "01 First"), ("b/c.html", "02 Second")]
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text(PAGE.format("The first", "b/c.html#place"), encoding="utf-8")
    (tmp_path / "b" / "c.html").write_text(PAGE.format("The second", "../a.html"), encoding="utf-8")
    parts = pdf.printed(browser, tmp_path, names)
    file = io.BytesIO()
    pdf.join(tmp_path, parts, "Both").write(file)
    return PdfReader(file)


def test_outline_has_the_titles_of_the_contents_and_the_headings(printed: PdfReader) -> None:
    outline = printed.outline
    chapters = [(i.title, printed.get_destination_page_number(i)) for i in outline[::2]]
    assert chapters == [("01 First", 0), ("02 Second", 1)]
    for inside in outline[1::2]:
        assert [i.title for i in inside] == ["A heading that is long enough for two lines"]
    assert printed.metadata is not None
    assert printed.metadata.title == "Both"


def test_links_lead_inside_the_file_or_to_the_web(printed: PdfReader) -> None:
    for page, other in ((0, 1), (1, 0)):
        links = [link.get_object() for link in printed.pages[page]["/Annots"]]  # type: ignore[attr-defined]
        inside = [link["/Dest"][0].get_object() for link in links if "/Dest" in link]
        assert inside == [printed.pages[other].get_object()]
        web = [link["/A"]["/URI"] for link in links if "/A" in link]
        assert web == ["https://example.org/"]


def test_every_sheet_names_its_page_and_number(printed: PdfReader) -> None:
    assert "01 First" in printed.pages[0].extract_text()
    assert "02 · 1" in printed.pages[1].extract_text()
