"""What the course needs to be installed, and what is: for `tools/setup_env.py` and the doctor.

Standard library only, and loadable by a Python that is too old for the course: both have to
start, and say so, where nothing is installed yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 11), (3, 14)
STAMP = "course-setup.json"
_ONLY_LINUX = "; sys_platform == 'linux'"

_PROBE = """
import importlib.metadata, importlib.util, json, os, platform, re, sys
def version(name):
    try: return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: return None
def origin(name):
    spec = importlib.util.find_spec(name)
    return spec and spec.origin
def torch_build():
    if not origin("torch"): return None
    with open(os.path.join(os.path.dirname(origin("torch")), "version.py")) as lines:
        cuda = re.search(r"^cuda[^=]*= *'(.*)'", lines.read(), re.MULTILINE)
    return "CUDA " + cuda[1] if cuda else "CPU"
print(json.dumps({
    "python": platform.python_version(),
    "course": origin("course_utils"),
    "torch_build": torch_build(),
    "versions": {name: version(name) for name in sys.argv[1:]}}))
"""


def venv_python(venv: Path) -> Path:
    """Return where a virtual environment keeps its interpreter on this system."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def minor(version: str) -> tuple[int, ...]:
    """Return the part of a Python version that packages depend on: "3.11.7" gives (3, 11)."""
    return tuple(int(part) for part in version.split(".")[:2])


def read_pyproject(root: Path) -> dict[str, Any]:
    """Return pyproject.toml as data."""
    import tomllib  # new in Python 3.11

    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def read_pins(root: Path, extras: tuple[str, ...] = ()) -> dict[str, str]:
    """Return name and version of every package that pyproject.toml pins for this system.

    Args:
        root: The folder of the course.
        extras: Which of the optional groups count besides the learner's packages.
    """
    project = read_pyproject(root)["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    parts = (line.partition(_ONLY_LINUX) for line in wanted)
    pins = [pin for pin, marked, _ in parts if not marked or sys.platform == "linux"]
    return dict(pin.split("==", 1) for pin in pins)


def fingerprint(root: Path) -> str:
    """Return a hash of everything that decides what is installed, and of nothing else."""
    pyproject = read_pyproject(root)
    decides = [
        pyproject["project"]["dependencies"],
        pyproject["project"]["optional-dependencies"],
        pyproject["build-system"],
        (root / "constraints.txt").read_text(encoding="utf-8"),
    ]
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()


def probe(python: Path, names: list[str]) -> dict[str, Any] | None:
    """Return what an interpreter has installed, None where it does not run.

    Args:
        python: The interpreter. It runs away from the course's folder, so that only what is
            really installed counts.
        names: The packages to look for.

    Returns:
        `python` (its version), `course` (where course_utils comes from), `torch_build` ("CPU",
        "CUDA 13.0", None) and `versions` (by name, None for what is missing).
    """
    command = [str(python), "-I", "-c", _PROBE, *names]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=tempfile.gettempdir()
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return found


def read_stamp(venv: Path) -> dict[str, Any]:
    """Return what the last complete installation wrote down, {} where there was none."""
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def fault(root: Path, extras: tuple[str, ...] = (), torch: str | None = None) -> str | None:
    """Return why `.venv` has to be installed (again), None where it is complete.

    Args:
        root: The folder of the course.
        extras: The optional groups that are wanted too.
        torch: "cpu" or "gpu" where that build is wanted, None where either will do.
    """
    venv = root / ".venv"
    stamp = read_stamp(venv)
    if not stamp:
        return "it is not there yet, or an installation was interrupted"
    if stamp.get("pins") != fingerprint(root):
        return "the course now pins other versions"
    if not set(extras) <= set(stamp.get("extras", ())):
        return f"the packages for {' and '.join(extras)} are not there yet"
    if torch not in (None, stamp.get("torch")):
        return f"it holds PyTorch for {stamp.get('torch')}, not for {torch}"
    pins = read_pins(root, extras)
    found = probe(venv_python(venv), list(pins))
    if found is None:
        return "its Python does not run"
    if minor(found["python"]) != minor(stamp.get("python") or "0"):
        return "its Python has changed"
    if not Path(found["course"] or "/").is_relative_to(root):
        return "the course is not installed in it from this folder"
    for name, version in pins.items():
        there = found["versions"][name]
        if there is None or there.partition("+")[0] != version:
            return f"{name} {version} is wanted, {there or 'none'} is there"
    return None
