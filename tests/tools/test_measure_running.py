"""The cost of running a chapter is measured in its kernel, and kept by chapter."""

import json
from pathlib import Path

import pytest

from tools import measure_running

SOURCE = '''# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
"""
# Count
"""

# %%
print(sum(range(3)))
'''


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one chapter."""
    for folder in ("book", "solutions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "solutions" / "03_count.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(measure_running, "_ROOT", tmp_path)
    monkeypatch.setattr(measure_running, "RECORD", tmp_path / "book" / "running.json")
    return tmp_path


@pytest.mark.thorough
def test_seconds_are_added_to_what_was_measured(course: Path) -> None:
    measure_running.RECORD.write_text('{"02_other": 7}', encoding="utf-8")
    assert measure_running.main(["03"]) == 0
    kept = json.loads(measure_running.RECORD.read_text(encoding="utf-8"))
    assert list(kept) == ["02_other", "03_count"]
    assert kept["02_other"] == 7
    assert isinstance(kept["03_count"], int)


@pytest.mark.thorough
def test_a_failing_chapter_is_told_and_nothing_is_kept(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = course / "solutions" / "03_count.py"
    path.write_text(SOURCE.replace("sum(", "sam("), encoding="utf-8")
    assert measure_running.main([]) == 1
    assert "NameError" in capsys.readouterr().err
    assert not measure_running.RECORD.exists()


def test_an_unknown_chapter_is_refused(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        measure_running.main(["77"])
    assert "no chapter has one of the numbers 77" in capsys.readouterr().err
