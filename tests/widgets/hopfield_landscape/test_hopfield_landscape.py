"""Arguments that `hopfield_landscape` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import hopfield_landscape

PAIR = [(1.0, 0.0), (-1.0, 0.0)]


def test_it_opens_on_a_triangle() -> None:
    widget = hopfield_landscape()
    assert (len(widget.patterns), widget.count) == (6, 3)
    assert repr(widget) == (
        "HopfieldLandscape(3 of 6 patterns, beta=4, start=[0.3, 0.4], as_attention=False)"
    )
    assert hopfield_landscape(PAIR).count == 2


@pytest.mark.parametrize(
    ("patterns", "options", "error", "says"),
    [
        ([], {}, ValueError, "must be from 1 to [06], got 0"),
        ([(0, 0)] * 7, {}, ValueError, "patterns must be from 1 to 6, got 7"),
        ([(2.5, 0)], {}, ValueError, r"each pattern must have two coordinates .*got \[2\.5, 0\]"),
        ([(1, 0, 0)], {}, ValueError, r"each pattern must have two coordinates .*got \[1, 0, 0\]"),
        ([(float("nan"), 0)], {}, ValueError, r"each pattern must .*got \[nan, 0\]"),
        (PAIR, {"start": (0, 3)}, ValueError, r"start must .*from -2 to 2, got \[0, 3\]"),
        (PAIR, {"count": 3}, ValueError, "count must be from 1 to 2, got 3"),
        (PAIR, {"count": 1.0}, TypeError, "count must be an int, got float"),
        (PAIR, {"beta": 0.01}, ValueError, r"beta must be from 0\.1 to 100, got 0\.01"),
        (PAIR, {"beta": "2"}, TypeError, "beta must be a number, got str"),
        (PAIR, {"as_attention": 1}, TypeError, "as_attention must be a bool, got int"),
    ],
)
def test_wrong_arguments_are_said(
    patterns: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        hopfield_landscape(patterns, **options)
