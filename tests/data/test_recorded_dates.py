"""The recorded alignments belong to the dates, the split and the formats of today."""

import datetime
from typing import Any

import pytest

from course_utils.data import is_held_out, write_date
from course_utils.measure import read_record


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return read_record("chapter_02_alignments")


def test_the_sources_are_held_out_days_written_as_the_course_writes_them(
    record: dict[str, Any],
) -> None:
    assert record["sources"]
    for source in record["sources"]:
        date = datetime.date.fromisoformat(source["iso"])
        written = write_date(date, source["locale"], source["style"])
        assert is_held_out(date)
        assert written.text == source["text"]
        assert {part: list(span) for part, span in written.spans.items()} == source["spans"]


def test_each_written_character_has_a_weight_for_each_source_character(
    record: dict[str, Any],
) -> None:
    assert {run["context"] for run in record["runs"]} >= {"fixed", "dot", "general", "additive"}
    for run in record["runs"]:
        assert len(run["written"]) == len(record["sources"])
        for row, source in zip(run["written"], record["sources"], strict=True):
            if run["context"] == "fixed":
                assert row.keys() == {"text"}
                continue
            assert len(row["percent"]) == len(row["text"])
            assert {len(weights) for weights in row["percent"]} == {len(source["text"])}
            if not run["context"].startswith("local-p"):
                # Each entry is rounded by itself, by half a percent at most.
                slack = len(source["text"]) / 2
                assert all(abs(sum(weights) - 100) <= slack for weights in row["percent"])
