"""Arguments that `speculation_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import speculation_explorer


def test_it_opens_before_the_first_call() -> None:
    widget = speculation_explorer()
    assert repr(widget) == "SpeculationExplorer(gamma=4, 0 calls)"
    assert sum(widget.target) == sum(widget.draft) == 100
    shown = repr(speculation_explorer(gamma=2, rounds=9, from_target=True))
    assert shown == "SpeculationExplorer(gamma=2, 9 calls, drawn from p)"


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"target": [100]}, ValueError, r"target must be 8 percents .* sum to 100, got \[100\]"),
        ({"draft": [12] * 8}, ValueError, r"draft must be 8 percents .* sum to 100, got \[12,"),
        ({"draft": [-1, 101, *[0] * 6]}, ValueError, "draft must be 8 percents from 0 on"),
        ({"target": [12.5] * 8}, TypeError, r"target must be a sequence of ints, got \[12\.5"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        speculation_explorer(**arguments)


def test_a_stage_that_no_call_has_is_refused() -> None:
    with pytest.raises(ValueError, match="stage must be from 0 to 7, got 8"):
        speculation_explorer().stage = 8
