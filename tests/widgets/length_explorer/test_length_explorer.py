"""Arguments that `length_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import LengthExplorer, length_explorer

CURVES = {"fixed": {2: [1.0, 0.8], 20: [0.2]}, "attention": {2: [1.0], 20: [0.9, 1.0]}}


def sample(source: str, fixed: str, attention: str) -> tuple[str, dict[str, str]]:
    return source, {"fixed": fixed, "attention": attention}


SAMPLES = [sample("12", "12", "12"), sample("34", "3", "34"), sample("5" * 14, "5" * 9, "5" * 14)]


def explorer(**changes: Any) -> LengthExplorer:
    return length_explorer(**{"samples": SAMPLES, "curves": CURVES, **changes})


def test_it_opens_at_the_median_length_and_says_so() -> None:
    assert repr(explorer()) == "LengthExplorer(3 samples of fixed and attention, length=2)"
    assert explorer(length=14).length == 14


def test_the_page_gets_what_each_model_wrote_and_the_range_of_its_runs() -> None:
    widget = explorer(trained=10)
    assert widget.samples[1] == ["34", "3", "34"]
    assert widget.names == ["fixed", "attention"]
    assert widget.curves[0] == [[2, 0.8, pytest.approx(0.9), 1.0], [20, 0.2, 0.2, 0.2]]
    assert widget.trained == 10


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"curves": {"fixed": {2: [1.0]}}}, r"curves must be of two models, got \['fixed'\]"),
        ({"samples": []}, "samples must hold at least one source"),
        ({"samples": [sample("", "", "")]}, "none that is empty"),
        ({"samples": [("1", {"fixed": "1"})]}, r"written by \['fixed', 'attention'\], got"),
        ({"curves": {**CURVES, "fixed": {2: [1.5]}}}, r"from 0 to 1, got \[1\.5\] for fixed at 2"),
        ({"curves": {**CURVES, "fixed": {2: []}}}, r"from 0 to 1, got \[\] for fixed at 2"),
        ({"curves": {**CURVES, "fixed": {}}}, "at least one length, got none for fixed"),
        ({"length": 3}, r"length must be that of a sample, one of \[2, 14\], got 3"),
    ],
)
def test_wrong_arguments_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explorer(**changes)
