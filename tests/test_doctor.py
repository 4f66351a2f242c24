"""The doctor says what is there, what is missing and how to fix it, also to a bare Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils import doctor
from course_utils.environment import ROOT, read_pins
from course_utils.model_file import WITHOUT

pytestmark = pytest.mark.thorough  # every test starts processes


def test_what_is_there_and_what_is_wrong_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_MODEL", str(tmp_path / "none.gguf"))
    detail = {name: detail for name, _, detail, _ in doctor.for_learners()}["released model"]
    assert detail == f"not at {tmp_path / 'none.gguf'}. {WITHOUT}"
    found = {name: status for name, status, *_ in doctor.for_learners()}
    assert found.pop("released model") == doctor.OPTIONAL
    assert set(found) > {"environment", "PyTorch build", "port 8888", *read_pins(ROOT)}
    assert set(found.values()) == {"there"}
    torch, _, none = doctor.packages({"torch": "1.0", "no-such-package": "2.0"}, "make learn")
    assert (torch[1], none[1], none[3]) == ("different", "missing", "make learn")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1e8}))
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path))  # a folder, not a file
    (tmp_path / "none.gguf").write_bytes(b"GGUF")
    wrong = {name: status for name, status, *_ in doctor.for_learners() if status != "there"}
    assert wrong == {
        "disk": "too full", "progress file": "unwritable", "released model": "damaged"
    }  # fmt: skip
    (tmp_path / "node").write_text("#!/bin/sh\necho v18.9.1\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    tools = {name: (status, detail) for name, status, detail, _ in doctor.for_builders()}
    assert tools["node"] == ("too old", f"18.9.1 at {tmp_path}/node")
    absent = ("npm", "chromium", "firefox", "webkit")
    assert [tools[name] for name in absent] == [("missing", "")] * 4


def test_bare_python_gets_a_report_with_each_remedy_once_and_no_traceback(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "course_utils", tmp_path / "course_utils")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    bare = [sys._base_executable, "-S", "-E", "-m", "course_utils", "doctor"]
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert f"missing torch {read_pins(ROOT)['torch']} is pinned" in lines
    assert any(line.startswith("incomplete environment it is not there yet,") for line in lines)
    assert lines.count("to fix it: make learn") == 1
