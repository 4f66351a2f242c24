"""The doctor says what is there, what is missing and how to mend it, also to a bare Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils import __main__ as command
from course_utils import doctor
from course_utils.environment import ROOT, read_pins

pytestmark = pytest.mark.thorough  # every test starts processes


def test_all_is_there_in_the_environment_that_runs_the_tests() -> None:
    found = {name: status for name, status, *_ in doctor.for_learners()}
    assert set(found.values()) == {"there"}
    rest = {"Python", "environment", "PyTorch build", "progress file", "disk", "port 8888"}
    assert set(found) == rest | set(read_pins(ROOT))
    assert {"git", "node", "npm", "chromium", "pytest"} <= {one[0] for one in doctor.for_builders()}


def test_what_is_wrong_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins = {"torch": "1.0", "no-such-package": "2.0"}
    torch, _, none = doctor.packages(pins, "make learn")
    assert (torch[1], none[1], none[3]) == ("different", "missing", "make learn")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1e8}))
    assert ("disk", "too full") in [finding[:2] for finding in doctor.for_learners()]
    for path, status in [("new/progress.jsonl", "there"), (".", "unwritable")]:
        monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / path))
        assert doctor.progress()[1] == status
    (tmp_path / "node").write_text("#!/bin/sh\necho v18.9.1\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.tool("node", "install it", oldest=20)[1:3] == (
        "too old",
        f"18.9.1 at {tmp_path}/node",
    )
    assert doctor.tool("npm", "install it") == ("npm", "missing", "", "install it")


def test_report_names_the_remedy_once_for_neighbours() -> None:
    missing = [("numpy", "missing", "", "make learn"), ("torch", "missing", "", "make learn")]
    lines = command.lines_of(
        "To take the course", [*missing, ("disk", "too full", "", "make room")]
    )
    said = [line.strip() for line in lines if "to mend" in line]
    assert said == ["to mend it: make learn", "to mend it: make room"]


def test_bare_python_gets_a_report_and_no_traceback(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "course_utils", tmp_path / "course_utils")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    bare = [sys._base_executable, "-S", "-E", "-m", "course_utils", "doctor"]
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["missing", "torch", "2.13.0", "is", "pinned"] in lines
    assert ["incomplete", "environment", "it", "is", "not", "there", "yet,"] in [
        x[:7] for x in lines
    ]
    assert ["to", "mend", "it:", "make", "learn"] in lines
