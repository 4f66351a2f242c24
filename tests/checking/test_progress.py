import json
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils.checking import progress as module
from course_utils.checking.progress import Journal, journal_path

WRITER = """
import sys
from pathlib import Path
from course_utils.checking.progress import Journal
for i in range(150):
    Journal(Path(sys.argv[1])).add("check", f"{sys.argv[2]}-{i}", status="passed")
"""


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "deep" / "progress.jsonl")


def test_what_is_written_is_read(journal: Journal) -> None:
    journal.add("check", "a", status="different")
    journal.add("check", "b", status="passed")
    journal.add("check", "b", status="crashed")
    journal.add("check", "c", status="not_attempted")
    assert journal.states() == {"a": "tried", "b": "passed"}
    assert journal.attempted("a")
    assert not journal.attempted("c")


def test_two_kernels_may_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "xyz"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    names = [event["exercise"] for event in Journal(path).events()]
    assert sorted(names) == sorted(f"{n}-{i}" for n in "xyz" for i in range(150))


def test_a_line_torn_by_a_crash_is_skipped_and_hurts_no_other(journal: Journal) -> None:
    journal.add("check", "a", status="passed")
    with journal.path.open("a", encoding="utf-8") as file:
        file.write('{"event": "check", "exerc')
    journal.add("check", "b", status="passed")
    assert journal.states() == {"a": "passed", "b": "passed"}


def test_foreign_lines_are_skipped_and_kept(journal: Journal) -> None:
    journal.add("hint", "a", number=1)
    with journal.path.open("ab") as file:
        file.write(b'\xff\xfe\n[1, 2]\n{"no": "exercise"}\nnull\n')
    journal.add("hint", "a", number=2)
    assert journal.count("hint", "a") == 2
    assert b"\xff\xfe" in journal.path.read_bytes()


def test_an_unwritable_place_is_said_once_and_stops_nothing(tmp_path, capsys) -> None:
    module._say_once.cache_clear()
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    for _ in range(2):
        Journal(blocker / "progress.jsonl").add("check", "a", status="passed")
    assert capsys.readouterr().err.count("Progress is not being recorded") == 1


def test_the_place_is_the_learner_s_and_can_be_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    assert journal_path() == tmp_path / "mine.jsonl"
    monkeypatch.delenv("ATTENTION_COURSE_PROGRESS")
    course = Path(module.__file__).resolve().parents[2]
    assert not journal_path().is_relative_to(course)


def test_every_line_is_json(journal: Journal) -> None:
    journal.add("check", "ä", status="passed")
    assert json.loads(journal.path.read_text(encoding="utf-8"))["exercise"] == "ä"
