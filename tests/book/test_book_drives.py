"""Every widget of every chapter is driven on its own page; its numbers are Python's."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from course_utils import widgets
from tests.book.book_support import Visit, pages
from tests.widgets import widget_drives as drives
from tests.widgets import widget_hands as hands

KIND = "application/vnd.jupyter.widget-"

pytestmark = pytest.mark.browser


def scripts(text: str, kind: str) -> list[Any]:
    """Return what a page keeps of its widgets, in order."""
    found = re.findall(rf'<script type="{re.escape(KIND + kind)}\+json">(.*?)</script>', text, re.S)
    return [json.loads(one) for one in found]


def kept(page: Path) -> list[Any]:
    """Return what each view of a page shows, as Python makes it from the state kept there.

    Views of one widget have the same object.
    """
    text = page.read_text(encoding="utf-8")
    models = {i: one for all_of in scripts(text, "state") for i, one in all_of["state"].items()}
    ours = {name: revived(one) for name, one in models.items() if "_anywidget_id" in one["state"]}
    views = [view["model_id"] for view in scripts(text, "view")]
    return [ours[name] for name in views if name in ours]


def revived(model: dict[str, Any]) -> Any:
    state = dict(model["state"])
    for buffer in model.get("buffers", []):
        state[buffer["path"][0]] = base64.b64decode(buffer["data"])
    kind = getattr(widgets, state["_anywidget_id"].rpartition(".")[2])
    assert state["_esm"] == kind._esm, f"{kind.__name__}: build the chapter's notebook again"
    own = {name for name in kind.class_trait_names(sync=True) if name[0] != "_"}
    return kind(**{name: state[name] for name in own - {"layout", "tabbable", "tooltip"}})


CHAPTERS = [page for page in pages() if page.startswith("notebooks/")]


def test_every_kind_of_widget_stands_in_some_chapter(site: Path) -> None:
    found = {type(widget).__name__ for name in CHAPTERS for widget in kept(site / name)}
    assert found == {name for name in drives.DRIVES if not name.startswith("Guess")}


@pytest.mark.thorough
@pytest.mark.parametrize("hand", ["mouse", "keys"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_widget_of_a_chapter_shows_what_python_says(
    visit: Callable[..., Visit], address: str, site: Path, name: str, hand: str
) -> None:
    """By http with the mouse, from the folder with the keyboard."""
    seen = visit(f"{address if hand == 'mouse' else site.as_uri()}/{name}")
    drive_all(seen.page, kept(site / name), hand)
    assert (seen.outside, seen.errors) == ([], [])


def drive_all(page: Page, found: list[Any], hand: str) -> None:
    """Drive every widget of a page; each must show what Python says."""
    roots = page.locator(".acw:not(.acw-guess)").all()
    driven: list[Any] = []
    for widget, root in zip(found, roots, strict=True):
        drive = drives.DRIVES[type(widget).__name__]
        if widget not in driven:  # a second view follows the first
            driven.append(widget)
            for step in drive.steps(widget):
                step.take(root, hand)
        hands.expect_said(root, drive.says(widget))
