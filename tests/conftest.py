"""What tests of every folder share: one browser for all."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

FLAGS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run --disable-quic"
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window; one per run, since Playwright starts only once in a thread."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        path = found or playwright.chromium.executable_path
        if not Path(path).exists():
            missing = pytest.fail if os.environ.get("CI") else pytest.skip
            missing(f"no Chromium at {path} (set CHROMIUM): nothing was seen in a browser")
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield chromium
        chromium.close()
