"""What the tests of the site share: its build, its files, and a page with what goes wrong on it."""

import importlib
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType

from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
SETTLED = """() => !document.querySelector('script[type*="widget-view"]')
    && [...document.querySelectorAll('.course-widget')].every((widget) => widget.children.length)"""
MODES = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (390, "light")}


def load(name: str, folder: Path = ROOT / "site") -> ModuleType:
    """Import a file of the folder `site`, which is no package: Python has a module of that name."""
    sys.path.insert(0, str(folder))  # its files import each other by their bare names
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


book = load("book")
TOC = book.project(ROOT)["toc"]


def pages(edition: str = "learner") -> list[str]:
    """Return the address below the site of every page of an edition, in reading order."""
    files = book.files(book.of_edition(TOC, edition))
    return [str(PurePosixPath(book.page(file)).with_suffix(".html")) for file in files]


def build(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the build of the tree at `root` as the Makefile does."""
    command = [sys.executable, "site/build.py", *options]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@dataclass
class Visit:
    """An open page and what went wrong on it since."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Wait until mathematics and widgets stand."""
        self.page.wait_for_function(SETTLED)
        self.page.evaluate("async () => { await globalThis.MathJax?.startup?.promise }")
        self.page.wait_for_timeout(100)
