"""Report what the course needs, what is there, what is missing and how to fix it.

It runs with nothing installed but Python itself. A finding has four parts: what it is about,
"there" or in a word what is wrong, more about it, and what fixes it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from course_utils import environment
from course_utils.environment import FITS, ROOT, read_pins

OPTIONAL = "optional"  # it is not there, and only what asks for it lacks it
TOOLS = (  # a program; the oldest version; the fix
    ("git", 0, "install git; without it the course cannot be updated"),
    (
        "node",
        environment.NODE,
        f"install Node.js {environment.NODE} or newer (Debian: apt install nodejs)",
    ),
    ("npm", 0, "comes with Node.js (Debian: apt install npm)"),
    ("chromium", 0, "Debian: apt install chromium; make test opens no other browser"),
    ("firefox", 0, "Debian: apt install firefox-esr; only make repeat opens it"),
    ("webkit", 0, "Debian: apt install webkit2gtk-driver xvfb; only make repeat opens it"),
)
BROWSERS = {
    "chromium": environment.find_chromium,
    "firefox": environment.find_firefox,
    "webkit": environment.find_webkit,
}


def is_active() -> bool:
    """Return whether this Python runs in a virtual environment or a conda environment."""
    return sys.prefix != sys.base_prefix or os.environ.get("CONDA_PREFIX") == sys.prefix


def for_learners() -> Iterator[tuple[str, str, str, str]]:
    """Check what is needed to take the course."""
    remedy = f"install {environment.PYTHONS}, then: make learn PYTHON=/path/to/python3.12"
    detail = f"{platform.python_version()} at {sys.executable}"
    yield "Python", "there" if FITS else "unsuitable", detail, remedy
    if not FITS:  # without tomllib there are no pins to read
        return
    own = is_active() and not Path(sys.prefix).is_relative_to(ROOT)
    made = own or environment.read_stamp().get("course") == str(ROOT)
    detail = "it is not there yet, or it was interrupted, or made in another folder"
    detail = f"your own, {sys.prefix}" if own else ".venv" if made else detail
    yield "environment", "there" if made else "incomplete", detail, "make learn"
    yield from packages(read_pins(ROOT), "make learn")
    yield from progress()
    yield from copies()
    yield from released_model()
    free, needed = shutil.disk_usage(ROOT).free / 1e9, 1 if made else environment.NEEDED_GB["cpu"]
    detail = f"{free:.1f} GB free, about {needed} GB needed"
    yield "disk", "there" if free > needed else "too full", detail, "remove what you can spare"
    taken = "busy; make learn takes another" if environment.is_busy(8888) else "free"
    yield "port 8888", "there", taken, ""


def packages(pins: dict[str, str], remedy: str) -> Iterator[tuple[str, str, str, str]]:
    """Compare what is installed with its pins, and name the build of PyTorch."""
    from importlib import metadata  # new in Python 3.8

    for name, pin in pins.items():
        there = next(iter(metadata.distributions(name=name)), None)
        if there is None:
            yield name, "missing", f"{pin} is pinned", remedy
        elif there.version.partition("+")[0] != pin:
            yield name, "different", f"{there.version}, {pin} is pinned", remedy
        else:
            yield name, "there", there.version, remedy
        if there and name == "torch":
            said = Path(str(there.locate_file("torch/version.py"))).read_text(encoding="utf-8")
            cuda = re.search(r"^cuda[^=]*= *'(.*)'", said, re.MULTILINE)
            yield "PyTorch build", "there", f"CUDA {cuda[1]}" if cuda else "CPU", remedy


def progress() -> Iterator[tuple[str, str, str, str]]:
    """Report where the learner's progress is kept, and whether that is writable."""
    try:
        from course_utils.checking.progress import journal_path
    except ImportError:  # the packages are not installed yet, as reported above
        return
    path = journal_path().absolute()
    target = next(part for part in (path, *path.parents) if part.exists())
    right = os.access(target, os.W_OK) and target.is_dir() == (target != path)
    remedy = "make it writable, or set ATTENTION_COURSE_PROGRESS to another file"
    yield "progress file", "there" if right else "unwritable", str(path), remedy


def copies() -> Iterator[tuple[str, str, str, str]]:
    """Report where the learner's copies of the notebooks are, and whether that is writable."""
    folder = ROOT / "work"
    right = os.access(folder if folder.exists() else ROOT, os.W_OK)
    detail = str(folder) if folder.exists() else f"{folder}, to be made by make learn"
    yield "notebooks", "there" if right else "unwritable", detail, f"make {ROOT} writable"


def released_model() -> Iterator[tuple[str, str, str, str]]:
    """Report where the released model's file is, its size and its sum; it may be left out."""
    try:
        from course_utils import model_file
    except ImportError:  # the packages are not installed yet, as reported above
        return
    path, remedy = model_file.model_path(), "python -m course_utils model"
    if not path.exists():
        yield "released model", OPTIONAL, f"not at {path}. {model_file.WITHOUT}", remedy
        return
    try:
        model_file.check_model_file(path)
    except model_file.ModelFileError as error:
        yield "released model", "damaged", str(error), f"remove it, then: {remedy}"
        return
    detail = f"{path}, {model_file.SIZE:,} bytes, SHA-256 {model_file.SHA256[:8]}… as published"
    yield "released model", "there", detail, remedy


def for_builders() -> Iterator[tuple[str, str, str, str]]:
    """Check what is needed only to test the course, to build its site and to change it."""
    if FITS:
        extra = read_pins(ROOT, "test", "book").items() - read_pins(ROOT).items()
        yield from packages(dict(sorted(extra)), "make install")
    for name, oldest, remedy in TOOLS:
        path = shutil.which(BROWSERS.get(name, lambda: None)() or name)
        if path is None:
            yield name, "missing", "", remedy
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        version = re.findall(r"\d+", said)[:3]  # WebKitWebDriver does not say its own
        status = "there" if int("".join(version[:1]) or 0) >= oldest else "too old"
        yield name, status, f"{'.'.join(version)} at {path}".strip(), remedy


def report(title: str, findings: Iterator[tuple[str, str, str, str]]) -> int:
    """Print one part of the report, each remedy once; return how much is to be fixed."""
    print(title)
    remedies: list[str] = []
    for name, status, detail, remedy in findings:
        print(f"  {status:<12}{name:<26}{detail}".rstrip())
        if status != "there":
            fix = "to get it" if status == OPTIONAL else "to fix it"
            print(*[f"  {'':<12}{fix}: {remedy}\n"] * (remedy not in remedies), end="")
            remedies += [remedy] * (status != OPTIONAL)
    print()
    return len(remedies)


def main() -> int:
    """Report on this environment; outside of one, on `.venv`. The exit status is 1 if it lacks."""
    if not is_active():
        with suppress(OSError):  # it is not there, or does not start
            inside = [str(environment.VENV_PYTHON), "-m", "course_utils", "doctor"]
            return subprocess.run(inside, cwd=ROOT).returncode
    wrong = report("To take the course", for_learners())
    report("Only to test, build or change it", for_builders())
    well = "All that a learner needs is there. To start: make learn"
    print(f"{wrong} to fix, as said above." if wrong else well)
    return 1 if wrong else 0
