"""A chapter is taken in JupyterLab in Firefox: mistake, hint, pass, and a widget that is heard."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from course_utils.widgets import scale_explorer
from tests.engines.engine_drivers import soon
from tests.engines.engine_page import Locator, Page
from tests.widgets.test_jupyterlab import open_notebook, private_lab
from tests.widgets.widget_drives import DRIVES
from tests.widgets.widget_hands import expect_said
from tests.widgets.widget_page import ROOT

pytestmark = pytest.mark.exhaustive
RUN_CELL = """(at) => {
    jupyterapp.shell.currentWidget.content.activeCellIndex = at;
    return jupyterapp.commands.execute("notebook:run-cell");
}"""
NAME = "attention_weights"
ANSWER = (
    f"{NAME} = lambda query, key, scale=None: torch.softmax(query @ key.mT * (FACTOR), -1); "
    f'check("{NAME}", {NAME})'
)
RIGHT = ANSWER.replace("FACTOR", "query.shape[-1]**-0.5 if scale is None else scale")
WRONG = ANSWER.replace("FACTOR", "1 if scale is None else scale")


def run(page: Page, cell: Locator, source: str, words: str) -> None:
    """Type over what a cell holds and run it with the keyboard; it must say these words."""
    cell.locator(".cm-content").fill(source)
    page.keyboard.press("Control+Enter")
    output = cell.locator(".jp-OutputArea").first
    soon(lambda: words in output.inner_text(), f"{words} below the cell")


def test_a_chapter_is_taken(start: Callable[..., Page], tmp_path: Path) -> None:
    page = start("firefox")
    text = (ROOT / "notebooks" / "03_scaled_dot_product.ipynb").read_text(encoding="utf-8")
    chapter = json.loads(text)
    sources = ["".join(one["source"]) for one in chapter["cells"]]
    opening, imports, exercise = (
        next(i for i, source in enumerate(sources) if words in source)
        for words in ("opening = ", "import torch", f"def {NAME}(")
    )
    with private_lab(tmp_path, {"chapter": chapter}) as lab:
        lab.choose("Light")
        open_notebook(page, lab, "chapter")
        cells = page.locator(".jp-Notebook .jp-Cell")
        for at in (opening, imports):
            page.evaluate(RUN_CELL, at)
        cell = cells.nth(exercise)
        run(page, cell, WRONG, "Not yet: no scale")
        run(page, cell, f'hint("{NAME}")', "Hint 1 of")
        run(page, cell, RIGHT, "Passed")
        drive, widget = DRIVES["ScaleExplorer"], scale_explorer()
        root = cells.nth(opening).locator(".acw")
        for step in drive.steps(widget):
            step.take(root, "mouse")
        expect_said(root, drive.says(widget))
        run(page, cell, "opening.d_k, opening.scaled", str(tuple(drive.traits.values())))
