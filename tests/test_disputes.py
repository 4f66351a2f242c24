"""A verdict that a learner disputes is written down, with all that is needed and no solution."""

import json
from pathlib import Path

import pytest
import torch

from course_utils import check, dispute, disputes
from course_utils.exercises import find


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "data" / "progress.jsonl"))
    monkeypatch.setattr(disputes, "_CHECKED", {})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def softmax_jacobian(w):
    return torch.diag_embed(w)


def test_the_file_holds_what_is_needed_to_judge_again_and_overwrites_nothing(tmp_path) -> None:
    with torch.no_grad():
        report = check("softmax_jacobian", softmax_jacobian)
    note = dispute("softmax_jacobian", "the diagonal is all")
    assert note.title == "Written: dispute_softmax_jacobian.json"
    said = json.loads(Path("dispute_softmax_jacobian.json").read_text(encoding="utf-8"))
    assert said["verdict"]["says"] == report.says
    assert said["why"] == "the diagonal is all"
    assert said["case"]["name"] == report.case
    assert said["case"]["seed"] == [c.name for c in find("softmax_jacobian").cases].index(
        report.case
    )
    assert "def softmax_jacobian(w):\n    return torch.diag_embed(w)" in said["answer"]
    assert said["settings"]["torch's gradient mode"] == "False"
    assert said["versions"]["torch"] == torch.__version__
    assert str(tmp_path) not in json.dumps(said)
    assert "_2.json" in dispute("softmax_jacobian").title
    assert len(list(Path().glob("dispute_*.json"))) == 2


def test_a_verdict_has_to_be_there_first() -> None:
    assert dispute("softmax_jacobian").title == "There is no verdict to dispute yet"
    assert list(Path().iterdir()) == []


def test_an_answer_without_a_text_is_said_to_be_one() -> None:
    check("softmax_jacobian", torch.diag_embed)
    dispute("softmax_jacobian")
    said = json.loads(Path("dispute_softmax_jacobian.json").read_text(encoding="utf-8"))
    assert said["answer"].startswith("# Its text is not known: ")


def test_where_nothing_can_be_written_the_text_is_shown(monkeypatch) -> None:
    check("softmax_jacobian", softmax_jacobian)
    monkeypatch.setattr(disputes, "_write", lambda *args: (_ for _ in ()).throw(OSError("full")))
    note = dispute("softmax_jacobian")
    assert json.loads(note.code)["exercise"] == "softmax_jacobian"
