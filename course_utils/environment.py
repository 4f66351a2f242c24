"""What the course pins, and which Python it runs on: for the setup, the doctor and the tests.

Standard library only, and loadable by a Python that is too old for the course: both have to
start, and say so, where nothing is installed yet.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 11), (3, 14)
STAMP = "course-setup.json"


def venv_python(venv: Path) -> Path:
    """Return where a virtual environment keeps its interpreter on this system."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_busy(port: int) -> bool:
    """Return whether a program listens on this port of this machine."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port of this machine on which no program listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def read_stamp(venv: Path) -> dict[str, Any]:
    """Return what the last complete installation recorded, {} if there was none."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads((venv / STAMP).read_text(encoding="utf-8")))
    return {}


def read_pins(root: Path, *extras: str) -> dict[str, str]:
    """Return name and version of what pyproject.toml pins for this system, with these groups."""
    import tomllib  # new in Python 3.11

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["optional-dependencies"][extra] for extra in extras]
    parts = [line.partition(";") for line in sum(groups, project["dependencies"])]
    here = (sys.platform, platform.machine()) == ("linux", "x86_64")  # where triton exists
    return dict(pin.split("==", 1) for pin, marker, _ in parts if here or not marker)
