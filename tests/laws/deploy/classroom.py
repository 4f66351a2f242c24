"""A hub of real accounts for tests: it is started, and leaves nothing behind."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import websocket

from course_utils.environment import ROOT
from course_utils.grading.walls import landlock
from course_utils.model_file import ELSEWHERE
from tools.hub_client import Account, HubError, Kernel
from tools.hub_demo import PROXY

NEEDS = [
    pytest.mark.skipif(not landlock(), reason="the walls are those of Linux's Landlock"),
    pytest.mark.skipif(not PROXY.exists() or not shutil.which("node"), reason="no proxy: npm ci"),
]


class Class:
    """The demo, running, and its accounts."""

    def __init__(self, folder: Path, chapter: str, learners: int, settings: dict[str, str]) -> None:
        self.folder = folder
        self.model = folder / "small.gguf"
        for path in (self.model, self.model.with_suffix(".float32.safetensors")):
            path.write_bytes(b"weights")
        command = [sys.executable, "-m", "tools.hub_demo", "--folder", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--accounts", str(learners), "--chapters", chapter],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
            env=os.environ | {ELSEWHERE: str(self.model)} | settings,
        )  # fmt: skip
        self.address, self.said = "", ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.address = found[0]
            if "ends it" in line:
                break
        assert self.address, self.said
        self.passwords = json.loads((folder / "accounts.json").read_text())

    def account(self, name: str) -> Account:
        one = Account(self.address, name, self.passwords[name])
        one.log_in()
        one.start_server()
        return one

    def left(self) -> list[int]:
        """Processes that belong to this hub."""
        mark = f"COURSE_HUB={self.folder}".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in place.read_bytes().split(b"\0"):
                    found.append(int(place.parent.name))
        return found


@contextlib.contextmanager
def opened(chapter: str, learners: int = 2, **settings: str) -> Iterator[Class]:
    """Open a hub with one chapter handed out; settings are variables of its environment."""
    # Not in pytest's folder, which is closed to other users of the system: learners are such.
    with tempfile.TemporaryDirectory(prefix="hub-", ignore_cleanup_errors=True) as folder:
        running = Class(Path(folder).resolve(), chapter, learners, settings)
        yield running
        running.process.send_signal(signal.SIGTERM)
        running.process.communicate(timeout=90)
        assert running.process.returncode == 0
        assert running.left() == []


def process_numbers(kernel: Kernel) -> tuple[int, int]:
    """Return the numbers of a kernel and of its server, both as the system has them."""
    asked = "import os\nprint(os.getpid(), os.environ['JPY_PARENT_PID'])"
    own, server = map(int, kernel.run(asked).text.split())
    return own, server


def until(holds: Callable[[], bool]) -> None:
    for _ in range(1200):
        with contextlib.suppress(HubError, OSError, websocket.WebSocketException):
            if holds():
                return
        time.sleep(0.1)
    pytest.fail("it did not come about in two minutes")
