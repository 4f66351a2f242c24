"""Answers on disk: one file an exercise, never lost, never in the way."""

import multiprocessing
import os
from pathlib import Path

import pytest
import torch

from course_utils import check, mine, yours
from course_utils.answers import kept
from course_utils.checking.report import NotPassedError


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "deep" / "progress.jsonl"
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(path))
    return path


def jacobian(w):
    return torch.diag_embed(w) - w[..., None] * w[..., None, :]


def other_jacobian(w):
    return torch.diag_embed(w) - torch.einsum("...i,...j->...ij", w, w)


def test_a_passed_answer_lies_beside_the_progress_and_can_be_imported(journal) -> None:
    assert check("softmax_jacobian", jacobian).note is None
    path = journal.parent / "progress_answers" / "softmax_jacobian.py"
    assert path == kept.kept_path("softmax_jacobian")
    assert path.read_text(encoding="utf-8").startswith(
        '"""My answer to `softmax_jacobian` of chapter 03."""\n\nimport torch\n'
    )
    weights = torch.tensor([0.5, 0.5])
    assert torch.equal(kept.load("softmax_jacobian")(weights), jacobian(weights))
    assert str(path) in mine("softmax_jacobian").code
    assert "einsum" not in mine("softmax_jacobian").code
    assert sorted(one.name for one in path.parent.iterdir()) == [".lock", path.name]


def test_two_journals_in_one_folder_keep_their_answers_apart(tmp_path, monkeypatch) -> None:
    check("softmax_jacobian", jacobian)
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "deep" / "bob.jsonl"))
    assert not kept.kept_path("softmax_jacobian").exists()


def test_nothing_is_overwritten_without_a_copy() -> None:
    for answer in (jacobian, jacobian, other_jacobian):
        check("softmax_jacobian", answer)
    path = kept.kept_path("softmax_jacobian")
    assert [one.name for one in kept.older_paths("softmax_jacobian")] == ["softmax_jacobian_1.py"]
    path.write_text("edited = True\n", encoding="utf-8")
    check("softmax_jacobian", other_jacobian)
    copies = [one.read_text(encoding="utf-8") for one in kept.older_paths("softmax_jacobian")]
    assert ["jacobian(w)" in text for text in copies] == [True, False]
    assert copies[1] == "edited = True\n"
    assert "einsum" in path.read_text(encoding="utf-8")
    assert "Earlier: softmax_jacobian_1.py, softmax_jacobian_2.py" in str(mine())


def test_what_did_not_pass_is_not_kept() -> None:
    check("softmax_jacobian", lambda w: w)
    assert "No answer is kept yet" in str(mine())
    assert "No answer is kept yet" in str(mine("softmax_jacobian"))


def test_nothing_is_kept_under_nbgrader(monkeypatch) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert check("softmax_jacobian", jacobian).passed
    with pytest.raises(NotPassedError):
        check("softmax_jacobian", lambda w: w)
    assert not kept.folder().exists()


def test_what_cannot_be_kept_is_said_on_the_card_and_the_rest_stays() -> None:
    def answer(w):
        return jacobian(w) + nothing

    nothing = 0.0
    note = check("softmax_jacobian", answer).note
    made = "it is not kept as a file: `softmax_jacobian` was made inside another function."
    assert note == "This answer " + made.removeprefix("it ")
    check("softmax_jacobian", jacobian)
    assert check("softmax_jacobian", answer).note == f"{note} The one kept before stays."
    assert "1 of your answers is kept" in str(mine())


def test_a_file_that_stands_no_more_is_said() -> None:
    check("softmax_jacobian", jacobian)
    text = "softmax_jacobian = undefined_elsewhere"
    kept.kept_path("softmax_jacobian").write_text(text, encoding="utf-8")
    with pytest.raises(ImportError, match="NameError: name 'undefined_elsewhere'"):
        kept.load("softmax_jacobian")
    kept.kept_path("softmax_jacobian").write_text("x = 1", encoding="utf-8")
    with pytest.raises(ImportError, match="it defines no function softmax_jacobian"):
        kept.load("softmax_jacobian")


def test_an_unwritable_place_is_said_and_stops_nothing(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "file" / "progress.jsonl"))
    report = check("softmax_jacobian", jacobian)
    assert report.passed
    assert "cannot be written" in report.note


def write_many(path: str, word: str) -> None:
    os.environ["ATTENTION_COURSE_PROGRESS"] = path
    for number in range(20):
        kept._write("softmax_jacobian", f"word = '{word}{number}'\n" * 200)


def test_two_kernels_may_write_at_once(journal) -> None:
    start = multiprocessing.get_context("fork")
    writers = [start.Process(target=write_many, args=(str(journal), word)) for word in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    files = [kept.kept_path("softmax_jacobian"), *kept.older_paths("softmax_jacobian")]
    assert len(files) == 40
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert all(len(set(text.splitlines())) == 1 and text.count("\n") == 200 for text in texts)
    assert len(set(texts)) == 40


def test_a_file_edited_at_once_is_read_again() -> None:
    path = kept.kept_path("stable_softmax")
    path.parent.mkdir(parents=True)
    for number in (1, 2, 3):
        path.write_text(f"def stable_softmax(x): return {number}\n", encoding="utf-8")
        assert yours("stable_softmax").stable_softmax(None) == number
    assert not list(path.parent.glob("__pycache__"))
