"""Every widget alive in JupyterLab: a notebook is run and driven, and the kernel hears of it."""

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from course_utils.environment import free_port
from tests.widgets.widget_drives import DRIVES
from tests.widgets.widget_hands import Hand, expect_said
from tests.widgets.widget_page import ROOT

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent

START = """\
import json
from tests.widgets.widget_drives import DRIVES
shown = {name: drive.make() for name, drive in DRIVES.items()}
"""
# A kernel far away: all that it says is on its way for a fifth of a second.
FAR = """
globalThis.WebSocket = class extends WebSocket {
  set onmessage(hear) { super.onmessage = (event) => setTimeout(hear, 200, event) }
}
"""
# Press a key five times, and list the values that a handle shows from then on.
SLOWLY = """async (grip, key) => {
  const shown = [];
  const look = () => grip.ariaValueNow === shown.at(-1) || shown.push(grip.ariaValueNow);
  new MutationObserver(look).observe(grip, { attributes: true });
  for (let i = 0; i < 5; i++) {
    grip.dispatchEvent(new KeyboardEvent("keydown", { key }));
    await new Promise((done) => setTimeout(done, 300));
  }
  await new Promise((done) => setTimeout(done, 600));
  return shown;
}"""
END = """\
print(json.dumps({
    name: {trait: getattr(shown[name], trait) for trait in drive.traits}
    for name, drive in DRIVES.items()
}))
"""


ALL = [START, *(f"shown[{name!r}]" for name in DRIVES), END]
ONE = ["from course_utils.widgets import projection_toy", "projection_toy()"]
CELLS = {"Light": ALL, "Dark": ALL, "One": ONE}


def notebook(cells: list[str]) -> dict[str, Any]:
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "cells": [
            {"cell_type": "code", "id": f"cell-{i}", "source": source, "metadata": {},
             "outputs": [], "execution_count": None}
            for i, source in enumerate(cells)
        ],
    }  # fmt: skip


def wait_until_it_answers(server: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(600):
        assert server.poll() is None, "JupyterLab stopped"
        try:
            with urllib.request.urlopen(url, timeout=60):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    pytest.fail("JupyterLab did not answer within a minute")


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab and where it keeps its settings."""

    address: str
    settings: Path

    def choose(self, theme: str) -> None:
        """Set the theme, as its settings menu does; no news, and no cell leaves the page."""
        chosen = {
            "apputils-extension/themes": {"theme": f"JupyterLab {theme}"},
            "apputils-extension/notification": {"fetchNews": "false"},
            "notebook-extension/tracker": {"windowingMode": "none"},
        }
        for name, setting in chosen.items():
            kept = self.settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(setting), encoding="utf-8")


@contextmanager
def private_lab(home: Path, notebooks: dict[str, dict[str, Any]]) -> Iterator[Lab]:
    """Start a JupyterLab with these notebooks: nothing of the user's is read or written."""
    (home / "work").mkdir()
    for name, content in notebooks.items():
        (home / "work" / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")
    own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    port, token = free_port(), secrets.token_hex(8)
    own["JUPYTERLAB_SETTINGS_DIR"] = str(home / "settings")
    own["JUPYTERLAB_WORKSPACES_DIR"] = str(home / "workspaces")
    own |= {"HOME": str(home), "IPYTHONDIR": str(home), "JUPYTER_TOKEN": token}
    own["ATTENTION_COURSE_PROGRESS"] = str(home / "progress.jsonl")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
         "--ip=127.0.0.1", f"--port={port}", f"--ServerApp.root_dir={home / 'work'}",
         "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=",
         "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
        env=os.environ | own | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])}, cwd=home,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}/lab/tree/NAME.ipynb?reset&token={token}"
        wait_until_it_answers(server, f"http://127.0.0.1:{port}/api?token={token}")
        yield Lab(address, home / "settings")
    finally:
        server.terminate()
        server.wait(timeout=60)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Lab]:
    """A JupyterLab of this test's own."""
    notebooks = {name: notebook(cells) for name, cells in CELLS.items()}
    with private_lab(tmp_path_factory.mktemp("lab"), notebooks) as running:
        yield running


def open_notebook(page: Page, lab: Lab, name: str) -> None:
    """Open a notebook and wait until its kernel listens."""
    page.goto(lab.address.replace("NAME", name))
    page.wait_for_function("globalThis.jupyterapp")
    page.evaluate("async () => { await jupyterapp.restored }")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()


def run_all(page: Page, lab: Lab, name: str, widgets: int) -> None:
    """Open a notebook and run every cell of it."""
    page.set_default_timeout(180_000)  # a kernel that starts and imports torch, on a busy machine
    open_notebook(page, lab, name)
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(f"document.querySelectorAll('.acw').length === {widgets}")


def expect_heard(page: Page, traits: dict[str, Any]) -> None:
    """Run the last cell until it prints these; what a page changes is on its way for a moment."""
    last = page.locator(".jp-CodeCell").last
    last.locator(".cm-content").click()
    heard: dict[str, Any] = {}
    for _ in range(600):
        page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")
        heard = json.loads(last.locator(".jp-OutputArea-output").inner_text())
        if heard == traits:
            return
        page.wait_for_timeout(100)
    assert heard == traits


@pytest.mark.parametrize(("theme", "hand"), [("Light", "keys"), ("Dark", "mouse")])
def test_every_widget_lives_in_jupyterlab(
    browser: Browser, lab: Lab, theme: str, hand: Hand
) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1900})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    lab.choose(theme)
    run_all(page, lab, theme, len(DRIVES))
    paper = page.evaluate("getComputedStyle(document.querySelector('.acw')).backgroundColor")
    assert paper == ("rgb(21, 25, 31)" if theme == "Dark" else "rgb(255, 255, 255)")
    roots = page.locator(".acw").all()
    for (name, drive), root in zip(DRIVES.items(), roots, strict=True):
        widget = drive.make()
        for step in drive.steps(widget):
            step.take(root, hand)
        expect_said(root, drive.says(widget))
        if folder := os.environ.get("SCREENSHOTS"):
            root.screenshot(path=Path(folder) / f"lab-{theme.lower()}-{name}.png")
    expect_heard(page, {name: drive.traits for name, drive in DRIVES.items()})
    page.close()
    assert wrong == []


def test_no_step_is_lost_where_the_kernel_is_far_away(browser: Browser, lab: Lab) -> None:
    page = browser.new_page()
    page.add_init_script(FAR)
    run_all(page, lab, "One", 1)
    grip = page.get_by_role("slider", name="W_K, row 1")
    assert grip.evaluate(SLOWLY, "ArrowLeft") == ["0.9", "0.8", "0.7", "0.6", "0.5"]
    page.close()
