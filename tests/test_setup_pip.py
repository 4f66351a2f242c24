"""pip is asked for the right things, and what it complains of becomes a clear sentence."""

import json
import os
import sys
from pathlib import Path

import pytest
from setup_course import fake_python, make_course

from tools import setup_pip
from tools.setup_pip import Installer, SetupError, brings_cuda, explain

CPU = ["filelock", "sympy>=1.13.3", 'optree>=0.13.0; extra == "optree"']
CUDA = [*CPU, 'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"']
TOOLKIT = [*CPU, 'cuda-toolkit[cublas]==13.0.3; platform_system == "Linux"']


def report(needs: list[str]) -> str:
    return json.dumps({"install": [{"metadata": {"name": "torch", "requires_dist": needs}}]})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_course(tmp_path)


def python(root: Path, script: str = f'exec "{sys.executable}" "$@"') -> Path:
    return fake_python(root / ".venv" / "bin" / "python", script)


@pytest.mark.parametrize(
    ("needs", "cuda"), [(CPU, False), (CUDA, True), (TOOLKIT, True), (["cudatext"], False)]
)
def test_cuda_is_seen_in_what_torch_needs(needs: list[str], cuda: bool) -> None:
    assert brings_cuda(report(needs)) is cuda


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been run; pip's report on torch says that it brings CUDA."""
    run: list[str] = []

    def note(self: Installer, *command: str) -> None:
        run.append(" ".join(command[1:]))
        if "--report" in command:
            Path(command[command.index("--report") + 1]).write_text(report(CUDA), encoding="utf-8")

    monkeypatch.setattr(Installer, "run", note)
    monkeypatch.setattr(sys, "platform", "linux")
    return run


def test_cpu_build_of_torch_comes_from_its_own_index(root: Path, commands: list[str]) -> None:
    setup_pip.install(root, python(root), ("book", "test"), "cpu")
    pip, dry_run, uv, torch, course = commands
    assert pip == "-m pip install -c constraints.txt pip"
    assert "--dry-run" in dry_run
    assert "--no-deps" in dry_run
    assert uv == "-m pip install -c constraints.txt uv"
    assert torch.startswith("-m uv pip install")
    assert "--torch-backend cpu" in torch
    assert torch.endswith("torch==2.13.0")
    assert course == "-m pip install -c constraints.txt -e .[book,test]"


def test_torch_without_cuda_is_left_to_pip(
    root: Path, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_pip, "brings_cuda", lambda _: False)
    setup_pip.install(root, python(root), (), "cpu")
    assert not any("uv" in command for command in commands)
    assert commands[-1] == "-m pip install -c constraints.txt -e ."


def test_gpu_build_is_left_to_pip(root: Path, commands: list[str]) -> None:
    setup_pip.install(root, python(root), (), "gpu")
    assert len(commands) == 2


def test_cpu_build_out_of_reach_offers_the_other(
    root: Path, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = Installer.run

    def fail(self: Installer, *command: str) -> None:
        noted(self, *command)
        if "uv" in command and "--torch-backend" in command:
            raise SetupError("no way")

    monkeypatch.setattr(Installer, "run", fail)
    with pytest.raises(SetupError, match="make learn TORCH=gpu"):
        setup_pip.install(root, python(root), (), "cpu")


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("ERROR: [Errno 28] No space left on device", "The disk is full."),
        ("OSError: [Errno 30] Read-only file system: '/opt'", "A folder cannot be written."),
        ("NameResolutionError: Temporary failure in name resolution", "could not be fetched"),
        ("ReadTimeoutError: Read timed out. (read timeout=15)", "could not be fetched"),
        ("ProxyError('Cannot connect to proxy.')", "could not be fetched"),
        ("error: client error (Connect): dns error", "could not be fetched"),
        ("ERROR: No matching distribution found for torch==2.13.0", "There is no build"),
        (
            "WARNING: Retrying: NewConnectionError\nERROR: No matching distribution",
            "not be fetched",
        ),
    ],
)
def test_cause_is_told_from_what_a_tool_says(said: str, cause: str) -> None:
    assert cause in str(explain(said))


def test_unknown_trouble_shows_the_last_errors_and_the_log(root: Path) -> None:
    installer = Installer(root, python(root, "echo fine; echo 'ERROR: odd thing'; exit 2"))
    with pytest.raises(SetupError) as caught:
        installer.pip("numpy")
    assert "Installing the packages failed:" in str(caught.value)
    assert "    ERROR: odd thing" in str(caught.value)
    assert str(installer.log) in str(caught.value)
    assert installer.log.read_text(encoding="utf-8") == "fine\nERROR: odd thing\n"


def test_closed_network_is_said_by_the_real_pip(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    installer = Installer(root, python(root))
    with pytest.raises(SetupError, match="no way to the package index"):
        installer.pip("--dry-run", "--target", str(root / "there"), "no-such-package==1.0")
