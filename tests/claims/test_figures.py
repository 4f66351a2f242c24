"""Rows of arithmetic: how figures are written and judged, and that each row could fail."""

from dataclasses import replace

import pytest

from course_utils.claims.figures import ROWS, Figure, judged, meant, said
from course_utils.claims.finding import checks


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        ("", "402653184"),
        (",", "402,653,184"),
        (".1f MB", "402.7 MB"),
        (".0f MiB", "384 MiB"),
        (".2f GB", "0.40 GB"),
    ],
)
def test_figures_are_written_in_a_format_and_a_unit(spec: str, written: str) -> None:
    assert format(Figure(402_653_184), spec) == written


@pytest.mark.parametrize(
    ("stated", "value", "verdict"),
    [
        ("402 MB", 402_653_184, "confirmed"),
        ("384 MB", 402_653_184, "corrected"),
        ("384 MiB", 402_653_184, "confirmed"),
        ("~80 MB", 81_920_000, "confirmed"),
        ("80 MB", 81_920_000, "wrong"),
        ("262,400", 262_400, "confirmed"),
        ("262,401", 262_400, "wrong"),
        ("67 MFLOP", 67_108_864, "confirmed"),
        ("80%", 250 / 312, "confirmed"),
        ("2e-9", 2.06e-9, "confirmed"),
        ("19", 18.75, "confirmed"),
        ("19", 18.25, "wrong"),
    ],
)
def test_a_figure_holds_to_its_last_digit(stated: str, value: float, verdict: str) -> None:
    assert said(stated, value).verdict() == verdict


def test_verdict_of_a_row() -> None:
    right, wrong, binary = said("2", 2), said("2", 3), said("384 MB", 402_653_184)
    assert judged([right, Figure(7)]) == "confirmed"
    assert judged([right, binary]) == "corrected"
    assert judged([right, wrong, binary]) == "wrong"
    assert judged([wrong, meant("3", 3)]) == "corrected"
    assert judged([wrong, meant("3", 3), meant("4", 3)]) == "wrong"


def test_each_row_could_come_out_otherwise() -> None:
    """With ten times its numbers a row is wrong, with the numbers as they are printed it holds."""
    checks()
    assert len(ROWS) > 50
    for claim, figures in ROWS.items():
        stated = [one for one in figures if one.stated]
        assert any(not one.amended for one in stated), claim
        assert judged([replace(one, value=10 * one.value + 1) for one in stated]) == "wrong", claim
        plain = [replace(one, stated=f"{one.value:.30f}", amended=False) for one in stated]
        assert judged(plain) == "confirmed", claim
