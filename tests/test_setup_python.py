"""The newest suitable Python on PATH is taken, and what does not suit is said in a sentence."""

import subprocess
import sys
from pathlib import Path

import pytest
from setup_course import fake_python

from tools import setup_env


def setup_sh(tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run tools/setup.sh where PATH holds nothing but what the test put into tmp_path."""
    script = setup_env.ROOT / "tools" / "setup.sh"
    command = ["/bin/sh", str(script), "--torch", "cpu"]
    surroundings = {"PATH": str(tmp_path), **env}
    return subprocess.run(command, capture_output=True, text=True, env=surroundings)


def python_of(version: tuple[int, int]) -> str:
    """Return a script that answers as that Python would, and says so when it is started."""
    return f"""case "$1" in
        -m) echo "chosen {version[0]}.{version[1]} $*"; exit 0;;
        -c) case "$2" in
            *version_info*) exit {int(not (3, 11) <= version <= (3, 14))};;
            *) echo "{version[0]}.{version[1]}.0";;
        esac;; esac"""


def test_newest_suitable_python_is_chosen(tmp_path: Path) -> None:
    fake_python(tmp_path / "python3.14", "exit 127")  # a version manager's stand-in
    fake_python(tmp_path / "python3.13", python_of((3, 13)))
    fake_python(tmp_path / "python3.11", python_of((3, 11)))
    fake_python(tmp_path / "python3", python_of((3, 15)))
    done = setup_sh(tmp_path)
    assert done.stdout == "chosen 3.13 -m tools.setup_env --torch cpu\n"


def test_named_python_goes_first(tmp_path: Path) -> None:
    fake_python(tmp_path / "python3.13", python_of((3, 13)))
    named = fake_python(tmp_path / "my python", python_of((3, 11)))
    assert setup_sh(tmp_path, PYTHON=str(named)).stdout.startswith("chosen 3.11")


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({}, "No suitable Python was found."),
        ({"python3": (3, 9)}, "No suitable Python was found (python3 is Python 3.9.0)."),
        ({"python3": (3, 15)}, "No suitable Python was found (python3 is Python 3.15.0)."),
    ],
)
def test_no_suitable_python_is_said(
    tmp_path: Path, versions: dict[str, tuple[int, int]], said: str
) -> None:
    for name, version in versions.items():
        fake_python(tmp_path / name, python_of(version))
    done = setup_sh(tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == said
    assert "make learn PYTHON=" in done.stderr


def test_named_python_that_does_not_fit_is_said_and_no_other_taken(tmp_path: Path) -> None:
    fake_python(tmp_path / "python3.13", python_of((3, 13)))
    old = fake_python(tmp_path / "old", python_of((3, 9)))
    done = setup_sh(tmp_path, PYTHON=str(old))
    assert done.returncode == 1
    assert f"PYTHON={old} cannot be used: {old} is Python 3.9.0" in done.stderr


def test_too_old_python_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    assert setup_env.main([]) == 1
    assert capsys.readouterr().out.startswith("The course needs Python 3.11 to 3.14")
