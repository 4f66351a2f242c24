"""JupyterLab opens on the first page; a busy port and a server that dies are said in a sentence."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import start_lab
from tools.start_lab import StartError, choose_port


@pytest.fixture
def busy() -> Iterator[int]:
    """A port on which another program listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_busy_port_is_said(busy: int) -> None:
    with pytest.raises(StartError, match=f"Port {busy} is busy"):
        choose_port(str(busy))


@pytest.mark.parametrize("wanted", ["x", "80", "65536", "-1", "9000.5"])
def test_what_is_no_port_is_said(wanted: str) -> None:
    with pytest.raises(StartError, match=f"PORT must be a number from 1024 to 65535, got {wanted}"):
        choose_port(wanted)


def test_next_free_port_is_taken_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start_lab, "is_free", lambda port: port == 8890)
    assert choose_port("") == 8890
    assert capsys.readouterr().out == "Port 8888 is busy; taking 8890.\n"


def test_no_free_port_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_lab, "is_free", lambda _: False)
    with pytest.raises(StartError, match="No port from 8888 to 8987 is free"):
        choose_port("")


def test_missing_first_page_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start_lab, "ROOT", tmp_path)
    assert start_lab.main(["--browser", "none"]) == 1
    assert "00_start_here.ipynb is missing; `make notebooks` builds it." in capsys.readouterr().err


def test_server_that_stops_at_once_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    dies = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr(start_lab, "lab_command", lambda *_: dies)
    with pytest.raises(StartError, match=r"stopped at once.*exit status 3"):
        start_lab.serve(9, browser=False)


def test_silent_server_is_given_up_and_ended(monkeypatch: pytest.MonkeyPatch, busy: int) -> None:
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(start_lab, "lab_command", lambda *_: sleeps)
    monkeypatch.setattr(start_lab, "PATIENCE_SECONDS", 0)
    with pytest.raises(StartError, match="did not answer"):
        start_lab.serve(busy, browser=False)


def test_lab_asks_nothing_of_the_network() -> None:
    command = start_lab.lab_command(8888, browser=False)
    assert "--LabApp.extension_manager=readonly" in command
    assert "--ServerApp.open_browser=False" in command
    assert "--ServerApp.open_browser=False" not in start_lab.lab_command(8888, browser=True)


@pytest.mark.thorough
def test_real_lab_serves_the_first_page_and_stops_when_told(busy: int) -> None:
    free = next(port for port in range(busy + 1, 65535) if start_lab.is_free(port))
    command = [sys.executable, "-m", "tools.start_lab", "--browser", "none", "--port", str(free)]
    environment = {**os.environ, "JUPYTER_TOKEN": "test"}
    with subprocess.Popen(
        command, cwd=start_lab.ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as lab:  # fmt: skip
        try:
            said = [line.strip() for _, line in zip(range(6), lab.stdout or (), strict=False)]
            address = f"http://127.0.0.1:{free}/lab/tree/notebooks/00_start_here.ipynb?token=test"
            assert said == ["", "The course is open at", "", address, "", "Ctrl+C here stops it."]
            with urllib.request.urlopen(address, timeout=30) as page:
                assert b"JupyterLab" in page.read()
        finally:
            lab.send_signal(signal.SIGTERM)
        assert lab.wait(timeout=30) == 0
    assert start_lab.is_free(free)
