"""Chapters that put parts together have a diagram, and their notebooks hold today's drawing."""

import json
from pathlib import Path

import pytest

from course_utils import diagrams
from course_utils.diagrams import diagram

ROOT = Path(__file__).resolve().parents[2]
WANTED = ["01", "02", "03", "04", "05", "08", "09", "10", "11", "13", "14", "16", "17"]


def test_chapters_that_put_parts_together_have_a_diagram() -> None:
    assert list(diagrams.chapters()) == WANTED


@pytest.mark.parametrize("chapter", WANTED)
def test_a_chapter_shows_its_diagram_as_it_is_drawn_today(chapter: str) -> None:
    for kind in ("solutions", "notebooks"):
        (path,) = (ROOT / kind).glob(f"{chapter}_*.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        call = f'diagram("{chapter}")'
        (cell,) = (cell for cell in cells if cell["source"][-1:] == [call])
        if kind == "solutions":
            (output,) = cell["outputs"]
            drawn = diagram(chapter)
            assert "".join(output["data"]["text/html"]) == drawn._repr_html_()
            assert "".join(output["data"]["text/plain"]) == repr(drawn)
