"""A course of two packages, installed by writing files: for the tests of the set-up."""

import subprocess
import sys
from pathlib import Path

from course_utils.environment import venv_python

PYPROJECT = """
[build-system]
requires = ["setuptools"]
[project]
dependencies = ["torch==2.13.0", "numpy==2.3.5"]
[project.optional-dependencies]
test = ["pytest==9.2.0"]
"""
PINS = {"pip": "26.3", "torch": "2.13.0+cpu", "numpy": "2.3.5"}


def make_course(root: Path) -> Path:
    """Write a course's own files, nothing installed."""
    (root / "course_utils").mkdir(parents=True)
    (root / "course_utils" / "__init__.py").touch()
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (root / "constraints.txt").write_text("pip==26.3\n", encoding="utf-8")
    return root


def empty_venv(venv: Path) -> None:
    """Make a virtual environment without pip, which takes a tenth of a second."""
    command = [sys.executable, "-m", "venv", "--without-pip", "--clear", str(venv)]
    subprocess.run(command, check=True)


def site_packages(venv: Path) -> Path:
    return next(venv.glob("lib/python3.*/site-packages"))


def put(venv: Path, packages: dict[str, str], course: Path) -> None:
    """Install packages, and the course from its folder, as far as metadata goes."""
    folder = site_packages(venv)
    for name, version in packages.items():
        for old in folder.glob(f"{name}-*.dist-info"):
            (old / "METADATA").unlink()
            old.rmdir()
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
    (folder / "course.pth").write_text(f"{course}\n", encoding="utf-8")


def fake_python(path: Path, script: str) -> Path:
    """Write a shell script that stands where an interpreter is expected."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def break_python(venv: Path) -> None:
    fake_python(venv_python(venv), "exit 127")
