import platform
from types import SimpleNamespace

import psutil
import pytest
import torch
from IPython.core.events import EventManager

from course_utils import model_file
from course_utils.models import released
from course_utils.models.released.gguf import recorded_cells

KEPT = {"date": "2026-11-27", "runs": [{"cell": "greeting", "printed": "Hello\nthere"}]}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded_cells, "read_record", lambda name: KEPT)
    monkeypatch.setenv(model_file.ELSEWHERE, str(tmp_path / "a model"))
    return tmp_path / "a model"


def run(with_model) -> list[str]:
    ran = []

    @with_model
    def greeting() -> None:
        ran.append("run")

    return ran


def test_without_the_file_a_cell_shows_what_was_recorded(path, capsys) -> None:
    with_model, found = released.with_model("a record")
    assert found is None
    assert run(with_model) == []
    said = capsys.readouterr().out
    assert said.startswith(model_file.MISSING)
    assert said.endswith("[recorded on 2026-11-27]\nHello\nthere\n")


def test_with_the_file_a_cell_runs_and_nothing_is_said(path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(recorded_cells, "released_model", lambda: path)
    with_model, found = released.with_model("a record")
    assert found == path
    assert run(with_model) == ["run"]
    assert capsys.readouterr().out == ""


def test_a_damaged_file_is_said_and_no_cell_stops(path, capsys) -> None:
    path.write_bytes(b"GGUF")
    with_model, found = released.with_model("a record")
    assert found is None
    assert run(with_model) == []
    said = capsys.readouterr().out
    assert "cut off" in said
    assert said.endswith("Hello\nthere\n")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps less")
def test_what_a_cell_has_freed_goes_back(path, monkeypatch) -> None:
    events = EventManager(None, {"post_run_cell": None})
    shell = SimpleNamespace(events=events)
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    released.with_model("a record")
    small = [torch.ones(2**14) for _ in range(4000)]  # 64 KiB each: none is mapped by itself
    last, held = torch.ones(2**14), psutil.Process().memory_info().rss
    small.clear()
    events.trigger("post_run_cell", None)
    assert psutil.Process().memory_info().rss < held - 100 * 2**20
    del last
