"""What goes wrong before and while `.venv` is made is said in a sentence."""

import errno
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from setup_course import fake_python, make_course

from tools import setup_env
from tools.setup_pip import SetupError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_course(tmp_path / "my course")


def test_full_disk_is_said_before_anything_is_made(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 1.2e9

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(SetupError, match=r"needs about 3 GB, 1\.2 GB are free"):
        setup_env.prepare(root)
    assert not (root / ".venv").exists()


def test_read_only_folder_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(SetupError, match=r"cannot be written \(Read-only file system\)"):
        setup_env.prepare(root)


def test_foreign_folder_called_venv_is_left_alone(root: Path) -> None:
    (root / ".venv").mkdir()
    (root / ".venv" / "thesis.txt").touch()
    with pytest.raises(SetupError, match="no virtual environment: move it away"):
        setup_env.make_venv(root / ".venv")
    assert (root / ".venv" / "thesis.txt").exists()


def test_python_without_venv_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    debian = "echo 'created unsuccessfully because ensurepip is not available.'; exit 1"
    monkeypatch.setattr(sys, "executable", str(fake_python(root / "python3", debian)))
    with pytest.raises(SetupError, match=r"sudo apt install python3\.\d+-venv"):
        setup_env.make_venv(root / ".venv")


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (SetupError("The disk is too full."), 1, "The disk is too full."),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "The disk is full."),
        (KeyboardInterrupt(), 130, "Interrupted; the next start goes on from here."),
    ],
)
def test_command_says_it_in_a_sentence(
    raised: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any) -> None:
        raise raised

    monkeypatch.setattr(setup_env, "prepare", fail)
    assert setup_env.main([]) == status
    assert capsys.readouterr().err.strip().startswith(said)
