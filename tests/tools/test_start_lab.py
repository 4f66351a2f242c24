"""JupyterLab opens where one stopped; a port that cannot be had is said in a sentence."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from course_utils.checking.progress import Journal
from course_utils.environment import ROOT, is_busy
from tools import start_lab

LAB = [sys.executable, "-m", "tools.start_lab", "--browser", "none"]


@pytest.mark.parametrize("wanted", ["x", "80", "65536", "-1", "9000.5", "busy"])
def test_a_port_that_cannot_be_had_is_said(
    wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        given = wanted.replace("busy", str(other.getsockname()[1]))
        monkeypatch.setattr(sys, "argv", ["start_lab", f"--port={given}"])
        with pytest.raises(SystemExit):
            start_lab.main()
    said = f"{given} is busy" if wanted == "busy" else f"from 1024 to 65535, got {given}"
    assert said in capsys.readouterr().err


def test_missing_first_page_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_lab, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["start_lab", "--browser=none"])
    with pytest.raises(SystemExit, match=r"00_start_here.ipynb is missing; `make notebooks`"):
        start_lab.main()


def test_copies_that_cannot_be_written_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_lab, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["start_lab", "--browser=none"])
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start_here.ipynb").touch()
    (tmp_path / "work").touch()
    with pytest.raises(SystemExit, match=r"copies of the notebooks cannot be written: .*work"):
        start_lab.main()


def test_the_file_list_is_widened_once_and_no_layout_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path / "own"))
    start_lab.widen_file_list()
    (kept,) = (tmp_path / "own").iterdir()
    assert json.loads(kept.read_text())["data"]["layout-restorer:data"]["relativeSizes"][0] == 0.24
    kept.write_text("mine")
    start_lab.widen_file_list()
    assert [path.read_text() for path in (tmp_path / "own").iterdir()] == ["mine"]
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path / "file" / "below"))
    start_lab.widen_file_list()  # nothing can be kept there, and nothing is said


@pytest.mark.thorough
def test_real_lab_serves_the_learner_s_page_on_a_free_port_and_stops_when_told(
    tmp_path: Path,
) -> None:
    journal = tmp_path / "progress.jsonl"
    Journal(journal).add("check", "attention_weights", status="different")
    other = socket.socket()
    if not is_busy(start_lab.FIRST_PORT):
        other.bind(("127.0.0.1", start_lab.FIRST_PORT))
        other.listen()
    environment = {
        **os.environ, "JUPYTER_TOKEN": "test", "ATTENTION_COURSE_PROGRESS": str(journal),
    }  # fmt: skip
    with (
        other,
        subprocess.Popen(LAB, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE) as lab,
    ):
        try:
            said = [line.strip() for _, line in zip(range(8), lab.stdout or (), strict=False)]
            taken, _, opened, _, address, _, place, stops = said
            port = int(taken.removeprefix("Port 8888 is busy; taking ").removesuffix("."))
            page = "work/03_scaled_dot_product.ipynb"
            page = f"http://127.0.0.1:{port}/lab/tree/{page}?token=test"
            assert (opened, address) == ("The course is open at", page)
            assert place == "Go on with attention_weights, chapter 03."
            assert stops == "Ctrl+C here stops it."
            with urllib.request.urlopen(address) as shown:
                text = shown.read().decode()
            config = re.search(r'(?s)id="jupyter-config-data"[^>]*>(.*?)</script>', text)
            assert "@jupyter/nbgrader" in json.loads(config[1])["disabledExtensions"]
        finally:
            lab.send_signal(signal.SIGTERM)
    assert lab.returncode == 0
    assert not is_busy(port)
