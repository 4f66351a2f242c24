"""Say what the course needs, what is there, what is missing and how to mend it.

`python -m course_utils doctor` runs with nothing installed but Python itself.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.environment import (
    NEWEST,
    OLDEST,
    ROOT,
    fault,
    minor,
    probe,
    read_pins,
    venv_python,
)

INSTALL, INSTALL_ALL = "make learn", "make install"
NOTHING: dict[str, Any] = {"versions": {}, "torch_build": None}
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
_PROGRESS = """
from course_utils.checking.progress import journal_path
print(journal_path().absolute())
"""


@dataclass(frozen=True)
class Finding:
    """One line of the report: a thing, how it is, and what mends it."""

    name: str
    status: str  # "there", or in one word what is wrong
    detail: str = ""
    mend: str = ""

    @property
    def well(self) -> bool:
        """Whether nothing has to be mended."""
        return self.status == "there"


def is_active() -> bool:
    """Return whether this Python runs in a virtual environment or a conda environment."""
    return sys.prefix != sys.base_prefix or os.environ.get("CONDA_PREFIX") == sys.prefix


def better_python(root: Path = ROOT) -> Path | None:
    """Return the interpreter of `.venv` where that, and not this one, is to be examined."""
    inside = venv_python(root / ".venv")
    return None if is_active() or probe(inside, []) is None else inside


def look_at_python() -> Finding:
    """Judge the version of the interpreter."""
    version = platform.python_version()
    detail = f"{version} at {sys.executable}"
    if OLDEST <= minor(version) <= NEWEST:
        return Finding("Python", "there", detail)
    mend = "install Python 3.11 to 3.14, then: make learn PYTHON=/path/to/python3.12"
    return Finding("Python", "unsuitable", detail, mend)


def look_at_environment(root: Path) -> Finding:
    """Judge `.venv`, or say that another environment is in use."""
    if is_active() and not Path(sys.prefix).is_relative_to(root):
        return Finding("environment", "there", f"your own, {sys.prefix}")
    wrong = fault(root)
    if wrong:
        return Finding("environment", "incomplete", wrong, INSTALL)
    return Finding("environment", "there", ".venv")


def look_at_packages(pins: dict[str, str], found: dict[str, Any], mend: str) -> list[Finding]:
    """Judge each installed version against its pin."""
    findings = []
    for name, pin in pins.items():
        version = found["versions"].get(name)
        if version is None:
            findings.append(Finding(name, "missing", f"{pin} is pinned", mend))
        elif version.partition("+")[0] != pin:
            findings.append(Finding(name, "different", f"{version}, {pin} is pinned", mend))
        else:
            findings.append(Finding(name, "there", version))
    return findings


def look_at_torch_build(found: dict[str, Any]) -> Finding:
    """Say whether PyTorch was built for the CPU or for a GPU."""
    if found["torch_build"] is None:
        return Finding("PyTorch build", "missing", "PyTorch is not installed", INSTALL)
    return Finding("PyTorch build", "there", found["torch_build"])


def look_at_tool(name: str, mend: str, *, names: tuple[str, ...] = (), oldest: int = 0) -> Finding:
    """Look a program up on PATH and ask it for its version."""
    path = next(filter(None, map(shutil.which, names or (name,))), None)
    if path is None:
        return Finding(name, "missing", "", mend)
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return Finding(name, "broken", f"{path} does not start", mend)
    version = re.search(r"\d+(\.\d+)*", said.stdout)
    if version and int(version[0].split(".")[0]) < oldest:
        return Finding(name, "too old", f"{version[0]}, {oldest} is needed", mend)
    return Finding(name, "there", f"{version[0] if version else 'version unknown'} at {path}")


def look_at_disk(root: Path, installed: bool) -> Finding:
    """Judge the free space: 3 GB before the installation, 1 GB after it."""
    free, needed = shutil.disk_usage(root).free / 1e9, 1 if installed else 3
    detail = f"{free:.1f} GB free, about {needed} GB needed"
    if free < needed:
        return Finding("disk", "too full", detail, "remove what you can spare")
    return Finding("disk", "there", detail)


def look_at_progress() -> Finding:
    """Say where the learner's progress is kept, and whether it can be written there."""
    try:
        command = [sys.executable, "-c", _PROGRESS]
        said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        path = Path(said.stdout.strip() or ".")
    except OSError:
        path = Path()
    if path == Path():
        return Finding("progress file", "unknown", "the course does not start yet", INSTALL)
    folder = next(parent for parent in path.parents if parent.exists())
    target = path if path.exists() else folder
    if os.access(target, os.W_OK) and folder.is_dir() and not path.is_dir():
        return Finding("progress file", "there", str(path))
    mend = "make it writable, or set ATTENTION_COURSE_PROGRESS to another file"
    return Finding("progress file", "unwritable", str(path), mend)


def look_at_port(port: int = 8888) -> Finding:
    """Say whether JupyterLab's usual port is free; a busy one is no fault, another is taken."""
    with socket.socket() as caller:
        caller.settimeout(1)
        busy = caller.connect_ex(("127.0.0.1", port)) == 0
    detail = "busy, so make learn takes the next free one" if busy else "free"
    return Finding(f"port {port}", "there", detail)


def learner_findings(root: Path = ROOT) -> list[Finding]:
    """Return what is needed to take the course."""
    first = look_at_python()
    if not first.well:  # without tomllib there are no pins to read
        return [first]
    pins = read_pins(root)
    found = probe(Path(sys.executable), list(pins)) or NOTHING
    environment = look_at_environment(root)
    return [
        first,
        environment,
        *look_at_packages(pins, found, INSTALL),
        look_at_torch_build(found),
        look_at_progress(),
        look_at_disk(root, environment.well),
        look_at_port(),
    ]


def builder_findings(root: Path = ROOT) -> list[Finding]:
    """Return what is needed only to test the course, to build its site and to change it."""
    if not look_at_python().well:
        return []
    pins = read_pins(root, ("test", "book"))
    extra = {name: pin for name, pin in pins.items() if name not in read_pins(root)}
    found = probe(Path(sys.executable), list(extra)) or NOTHING
    return [
        *look_at_packages(extra, found, INSTALL_ALL),
        look_at_tool("git", "install git; without it the course cannot be updated"),
        look_at_tool("node", "install Node.js 20 or newer (Debian: apt install nodejs)", oldest=20),
        look_at_tool("npm", "comes with Node.js (Debian: apt install npm)"),
        look_at_tool("chromium", "install it (Debian: apt install chromium)", names=CHROMIUMS),
    ]
