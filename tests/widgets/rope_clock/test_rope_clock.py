"""Arguments that `rope_clock` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import rope_clock


def test_it_opens_with_the_key_before_the_query() -> None:
    assert repr(rope_clock()) == "RopeClock(query at 6, key at 2, 4 pairs, interleaved)"
    assert len(rope_clock([1, 0], [0, 1]).query) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": [1.0, 2.0]}, r"one even width from 2 to 8, got \[2, 8\]"),
        ({"query": [1.0] * 3, "key": [1.0] * 3}, r"got \[3, 3\]"),
        ({"query": [1.0] * 10, "key": [1.0] * 10}, r"got \[10, 10\]"),
        ({"query": [float("nan")] * 8}, "query and key must be finite"),
        ({"base": 0}, "base must be a positive number, got 0"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        rope_clock(**arguments)


def test_a_pair_that_does_not_exist_is_refused() -> None:
    widget = rope_clock()
    widget.pair = 3
    with pytest.raises(ValueError, match="pair must be from 0 to 3, got 4"):
        widget.pair = 4
