"""Helpers of the site's tests: its build, its files, and a page with what goes wrong on it."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from book import contents
from book.contents import ROOT as ROOT

WIDGETS_STAND = """() => !document.querySelector('script[type*="widget-view"]')
    && [...document.querySelectorAll('.course-widget')].every((widget) => widget.children.length)"""
# After two frames, what hears of a new theme or width has redrawn itself; but the theme lets 300 ms
# pass after a new width before it makes what now scrolls reachable by keyboard.
MATHEMATICS_STANDS = """async (pause) => {
    await globalThis.MathJax?.startup?.promise;
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done, pause));
}"""
UNFOLD = """() => {
    const folded = '.further-time > button[aria-expanded="false"]';
    for (const one of document.querySelectorAll(`${folded}, .guess-waits button`)) one.click();
}"""
FORGET = "try { localStorage.removeItem('attention-course-further') } catch {}"
NOTHING_FADES = "() => document.getAnimations().every((one) => one.playState !== 'running')"
MODES = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (390, "light")}


TOC = contents.project(ROOT)["toc"]
NOTEBOOK: dict[str, Any] = {
    "cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A\n\nText."}],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def pages(edition: str = "learner") -> list[str]:
    """Return the address below the site of every page of an edition, in reading order."""
    files = contents.files(contents.of_edition(TOC, edition))
    return [f"{contents.docname(file)}.html" for file in files]


def build(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the build of the tree at `root` as the Makefile does."""
    command = [sys.executable, "-m", "book.build", *options]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def small_course(root: Path) -> None:
    """Make `root` a course of two pages with the real site's settings."""
    ignore = shutil.ignore_patterns("__pycache__", "vendor")
    shutil.copytree(ROOT / "book", root / "book", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", root)
    config = (ROOT / "book.yml").read_text(encoding="utf-8")
    toc = "  toc:\n    - file: book/index.md\n    - file: notebooks/a.ipynb\n"
    (root / "book.yml").write_text(config[: config.index("  toc:")] + toc, encoding="utf-8")
    front = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n"
    front += "# Front\n\n[A](/notebooks/a.ipynb)\n"
    (root / "book" / "index.md").write_text(front, encoding="utf-8")
    for folder, text in {"notebooks": "Text.", "solutions": "Solved."}.items():
        (root / folder).mkdir()
        notebook = json.dumps(NOTEBOOK).replace("Text.", text)
        (root / folder / "a.ipynb").write_text(notebook, encoding="utf-8")


@dataclass
class Visit:
    """An open page and what went wrong on it since."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def turn(self, mode: str) -> None:
        """Give the window the width and the scheme of a mode, and wait for what follows."""
        before = self.page.viewport_size
        self.dress(mode)
        self.settle(pause=350 if self.page.viewport_size != before else 0)

    def dress(self, mode: str) -> None:
        """Give the window the width and the scheme of a mode."""
        width, scheme = MODES[mode]
        self.page.emulate_media(color_scheme=scheme)
        if self.page.viewport_size != (size := {"width": width, "height": 900}):
            self.page.set_viewport_size(size)

    def settle(self, pause: int = 0) -> None:
        """Wait until mathematics and widgets stand and no colour fades."""
        self.page.wait_for_function(WIDGETS_STAND)
        self.page.evaluate(MATHEMATICS_STANDS, pause)
        self.page.wait_for_function(NOTHING_FADES)
