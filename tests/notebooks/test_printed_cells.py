import re

import pytest

from benchmarks.chapters.printed import printed
from course_utils.measure import read_record


@pytest.mark.parametrize("chapter", ["19", "20"])
def test_what_is_shown_without_the_model_is_what_the_notebook_printed_with_it(chapter: str) -> None:
    rows = printed(chapter)
    assert all(row["printed"] for row in rows)
    assert rows == read_record(f"chapter_{chapter}_printed")["runs"]


def test_stored_greedy_texts_hang_on_no_rounding() -> None:
    gaps = re.findall(r"smallest gap (\S+)", "\n".join(row["printed"] for row in printed("19")))
    assert len(gaps) == 4
    assert all(float(gap) >= 0.1 for gap in gaps)
