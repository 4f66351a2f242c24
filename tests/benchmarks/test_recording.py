"""The frame of the scripts in benchmarks/: their options, the command they record, the file."""

from pathlib import Path

import pytest

from benchmarks import recording
from course_utils.environment import ROOT
from course_utils.measure import read_record

OPTIONS = {"seeds": 3, "quick": False, "models": ("plain", "a sink"), "lengths": [256, 512]}


@pytest.fixture(autouse=True)
def keep_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.set_num_threads", lambda number: None)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ([], "--seeds 3 --lengths 256 512"),
        (["--seeds", "1", "--lengths", "8"], "--seeds 1 --lengths 8"),
        (["--quick", "--models", "a sink"],
         "--seeds 3 --quick --models 'a sink' --lengths 256 512"),
    ],
)  # fmt: skip
def test_the_recorded_command_says_every_option_but_where_the_record_lies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given, command
) -> None:
    monkeypatch.setattr("sys.argv", ["x.py", *given, "--out", str(tmp_path)])
    script = recording.Script(str(ROOT / "benchmarks" / "x.py"), "About.", **OPTIONS)
    assert script.command == f"python -m benchmarks.x {command}"


def test_an_unknown_name_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["x.py", "--models", "gate"])
    with pytest.raises(SystemExit):
        recording.Script(str(ROOT / "benchmarks" / "x.py"), None, **OPTIONS)
    assert "invalid choice: 'gate' (choose from 'plain', 'a sink')" in capsys.readouterr().err


def test_a_record_has_its_head_its_tables_and_one_run_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["x.py", "--out", str(tmp_path)])
    script = recording.Script(str(ROOT / "benchmarks" / "x.py"), None, seeds=1)
    runs = recording.each(lambda seed: {"seed": seed}, [[0], [1]])
    script.record(what="w", settings={"d": 4}, runs=runs, versions={"other": "1"}, more=[{"a": 1}])
    record = read_record("x", tmp_path)
    head = ["what", "command", "date", "versions", "machine", "settings"]
    assert list(record) == [*head, "more", "runs"]
    assert record["versions"].keys() == {"python", "torch", "other"}
    assert ('"runs": [\n  {"seed": 0},\n  {"seed": 1}\n ]') in (tmp_path / "x.json").read_text()
