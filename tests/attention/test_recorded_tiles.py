"""The record of chapter 09's tiles is complete, and its exponents follow from its runs."""

import pytest

from course_utils.measure import fit_power_law, read_record

RECORD = read_record("chapter_09_tiled")
CASE = ("what", "training", "is_causal")


def test_every_way_was_measured_once_at_every_length_up_to_its_longest() -> None:
    lengths = sorted({run["length"] for run in RECORD["runs"]})
    for row in RECORD["exponents"]:
        own = [run["length"] for run in RECORD["runs"] if all(run[of] == row[of] for of in CASE)]
        assert own == lengths[: len(own)]


def test_exponents_follow_from_the_runs() -> None:
    for row in RECORD["exponents"]:
        runs = [run for run in RECORD["runs"] if all(run[of] == row[of] for of in CASE)]
        runs = [run for run in runs if run["length"] >= 1024]
        for quantity in ("milliseconds", "peak_bytes"):
            law = fit_power_law([run["length"] for run in runs], [run[quantity] for run in runs])
            assert law.exponent == pytest.approx(row[quantity], abs=2e-3)
