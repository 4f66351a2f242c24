"""Requirements and pinned versions of the course: for the setup, the doctor and the tests.

Standard library only, and loadable by a Python that is too old for the course: both have to
start, and say so, where nothing is installed yet.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 11), (3, 14)
FITS = OLDEST <= sys.version_info[:2] <= NEWEST
PYTHONS = "Python {}.{} to {}.{}".format(*OLDEST, *NEWEST)
NODE = 20  # the oldest Node.js
NEEDED_GB = {"cpu": 3, "gpu": 10}  # by the build of PyTorch
MODEL_MB = 93  # of the wheel that holds the released model
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "course-setup.json"


def find_chromium() -> str | None:
    """Return what the variable CHROMIUM names, else the first on PATH: the shell costs least."""
    known = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, known)), None)


def find_firefox() -> str | None:
    """Return the first Firefox on PATH: Debian's long-term release before any other."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


def find_webkit() -> str | None:
    """Return the program that drives WebKitGTK."""
    return shutil.which("WebKitWebDriver")


def is_busy(port: int) -> bool:
    """Return whether a program listens on this port of this machine."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port of this machine on which no program listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def read_stamp() -> dict[str, Any]:
    """Return what the last complete installation recorded, {} if there was none."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    return {}


def read_pins(root: Path, *extras: str) -> dict[str, str]:
    """Return name and version of what pyproject.toml pins for this system, with these groups."""
    import tomllib  # new in Python 3.11

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["optional-dependencies"][extra] for extra in extras]
    parts = [line.partition(";") for line in sum(groups, project["dependencies"])]
    here = (sys.platform, platform.machine()) == ("linux", "x86_64")  # where triton exists
    return dict(pin.split("==", 1) for pin, marker, _ in parts if here or not marker)
