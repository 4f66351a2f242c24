"""Fixtures of all tests: one browser for all, and folders served to it alone."""

import atexit
import functools
import http.server
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import jaxtyping
import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from course_utils.environment import find_chromium
from tests.peer_table import pytest_runtest_call as pytest_runtest_call

# No test writes among the answers and verdicts of whoever runs it.
PROGRESS = tempfile.mkdtemp(prefix="attention-course-")
atexit.register(shutil.rmtree, PROGRESS, ignore_errors=True)
os.environ["ATTENTION_COURSE_PROGRESS"] = str(Path(PROGRESS) / "progress.jsonl")

# What only the course itself calls checks nothing while it runs: here, calls of it are held to its
# annotations, shapes and all. The hook reaches modules that are not imported yet.
INTERNAL = [
    "course_utils.data",
    "course_utils.matrix_plotting",
    "course_utils.plotting",
    "course_utils.models.gpt.named_schemes",
    "course_utils.models.recurrent.seq2seq_training",
    "course_utils.models.tasks.gpt_text",
    "course_utils.models.tasks.length_task",
    "course_utils.models.training.loop",
]
jaxtyping.install_import_hook(INTERNAL, "beartype.beartype")

PATIENCE = 60_000  # milliseconds: conditions are exact; how busy the machine is, is not
expect.set_options(timeout=PATIENCE)

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a page gets nothing from outside
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window; one per run, since Playwright starts only once in a thread."""
    with sync_playwright() as playwright:
        path = find_chromium() or playwright.chromium.executable_path
        if not Path(path).exists():
            missing = pytest.fail if os.environ.get("CI") else pytest.skip
            missing(f"no Chromium at {path} (set CHROMIUM): nothing was seen in a browser")
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for all pages: what they share is loaded once. Each page finds it as on a first visit."""
    shared = browser.new_context()
    shared.set_default_timeout(PATIENCE)
    shared.add_init_script("try { localStorage.clear(); } catch {}")
    yield shared
    shared.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, keeps connections open and says nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """Return a function that serves a folder on a port of this machine until the tests end."""
    with ExitStack() as open_ones:

        def address(folder: Path, kind: type[Quiet] = Quiet) -> str:
            handler = functools.partial(kind, directory=str(folder))
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            open_ones.enter_context(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            open_ones.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield address
