"""The doctor says what is there, what is missing and how to mend it, also to a bare Python."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from setup_course import fake_python

from course_utils import __main__ as command
from course_utils import doctor
from course_utils.doctor import Finding
from course_utils.environment import ROOT, probe, read_pins

pytestmark = pytest.mark.thorough  # every test starts processes

PINS = {"torch": "2.13.0", "numpy": "2.3.5", "tqdm": "4.70.1"}


def statuses(findings: list[Finding]) -> dict[str, str]:
    return {finding.name: finding.status for finding in findings}


def test_all_is_there_in_the_environment_that_runs_the_tests() -> None:
    found = doctor.learner_findings()
    assert [finding for finding in found if not finding.well] == []
    assert set(read_pins(ROOT)) <= set(statuses(found))
    rest = {"Python", "environment", "PyTorch build", "progress file", "disk", "port 8888"}
    assert rest <= set(statuses(found))


def test_builder_part_names_the_programs() -> None:
    assert {"git", "node", "npm", "chromium", "pytest"} <= set(statuses(doctor.builder_findings()))


def test_packages_are_held_against_their_pins() -> None:
    found: dict[str, Any] = {"versions": {"torch": "2.13.0+cpu", "numpy": "1.26.4", "tqdm": None}}
    torch, numpy, tqdm = doctor.look_at_packages(PINS, found, "make learn")
    assert torch.well
    assert (numpy.status, numpy.detail) == ("different", "1.26.4, 2.3.5 is pinned")
    assert (tqdm.status, tqdm.mend) == ("missing", "make learn")


@pytest.mark.parametrize(
    ("line", "build"), [("cuda: Optional[str] = None", "CPU"), ("cuda = '13.0'", "CUDA 13.0")]
)
def test_build_of_torch_is_read_without_loading_it(tmp_path: Path, line: str, build: str) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemError", encoding="utf-8")
    (tmp_path / "torch" / "version.py").write_text(f"{line}\n", encoding="utf-8")
    script = f"""shift; PYTHONPATH='{tmp_path}' exec '{sys._base_executable}' "$@" """
    found = probe(fake_python(tmp_path / "python", script), [])
    assert found is not None
    assert found["torch_build"] == build


@pytest.mark.parametrize(
    ("script", "status"),
    [("echo v22.1.0", "there"), ("echo v18.9.1", "too old"), ("echo odd", "there")],
)
def test_programs_are_asked_for_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, status: str
) -> None:
    fake_python(tmp_path / "node", script)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.look_at_tool("node", "install it", oldest=20).status == status
    assert doctor.look_at_tool("npm", "install it") == Finding("npm", "missing", "", "install it")


def test_full_disk_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 2e9

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    assert doctor.look_at_disk(ROOT, installed=False).status == "too full"
    assert doctor.look_at_disk(ROOT, installed=True).well


def test_busy_port_is_said_and_is_no_fault() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        finding = doctor.look_at_port(other.getsockname()[1])
    assert finding.well
    assert finding.detail.startswith("busy")


def test_progress_that_cannot_be_written_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for path, status in [
        (tmp_path / "new" / "folder" / "progress.jsonl", "there"),
        (tmp_path / "file", "there"),
        (tmp_path / "file" / "progress.jsonl", "unwritable"),
        (tmp_path, "unwritable"),
    ]:
        monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(path))
        assert doctor.look_at_progress().status == status, path


def test_report_names_the_remedy_once_for_neighbours() -> None:
    lines = command.lines_of(
        "To take the course",
        [
            Finding("Python", "there", "3.12.1"),
            Finding("numpy", "missing", "", "make learn"),
            Finding("torch", "missing", "", "make learn"),
            Finding("disk", "too full", "", "make room"),
        ],
    )
    assert [line.strip() for line in lines if "to mend" in line] == [
        "to mend it: make learn",
        "to mend it: make room",
    ]


@pytest.mark.parametrize(("status", "returned"), [("there", 0), ("missing", 1)])
def test_exit_status_is_about_the_learners_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: str, returned: int
) -> None:
    monkeypatch.setattr(command, "learner_findings", lambda: [Finding("torch", status)])
    monkeypatch.setattr(command, "builder_findings", lambda: [Finding("node", "missing")])
    assert command.main(["doctor"]) == returned
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "1 to mend, as said above."
        if returned
        else "All that a learner needs is there. To start: make learn"
    )


def test_bare_python_gets_a_report_and_no_traceback(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "course_utils", tmp_path / "course_utils")
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    bare = [sys._base_executable, "-S", "-E", "-m", "course_utils", "doctor"]
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == ""
    assert re.search(r"^  missing +torch +2\.13\.0 is pinned$", done.stdout, re.MULTILINE)
    assert re.search(r"^  incomplete +environment +it is not there yet", done.stdout, re.MULTILINE)
    assert "to mend it: make learn" in done.stdout


def test_doctor_outside_an_environment_examines_the_one_of_the_course() -> None:
    bare = [sys._base_executable, "-m", "course_utils", "doctor"]
    environment = {name: value for name, value in os.environ.items() if name != "CONDA_PREFIX"}
    done = subprocess.run(bare, cwd=ROOT, capture_output=True, text=True, env=environment)
    if (ROOT / ".venv").exists():
        assert str(ROOT / ".venv") in done.stdout.splitlines()[1]
    else:
        assert done.returncode == 1
