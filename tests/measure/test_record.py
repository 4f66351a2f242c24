import json
from pathlib import Path

import pytest

from course_utils.measure import read_record
from course_utils.measure.record import RESULTS


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "speed.json").write_text(json.dumps({"date": "2026-01-31", "runs": [1.5]}))
    assert read_record("speed", tmp_path) == {"date": "2026-01-31", "runs": [1.5]}


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    for known in ("speed", "memory"):
        (tmp_path / f"{known}.json").write_text("{}")
    with pytest.raises(ValueError, match=r"records \(memory, speed\), got 'sped'"):
        read_record("sped", tmp_path)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_record_of_the_course_says_where_it_comes_from(path: Path) -> None:
    record = read_record(path.stem)
    if record.get("status", "").startswith("not yet measured"):
        assert record["runs"] == []
        return
    assert record["command"].startswith("python -m benchmarks.")
    assert {"date", "versions", "machine", "runs"} <= record.keys()
