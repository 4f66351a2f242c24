"""Arguments that `state_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import state_explorer


def test_it_opens_on_six_pairs() -> None:
    widget = state_explorer()
    assert (len(widget.writes), widget.asked) == (6, 0)
    assert repr(widget) == "StateExplorer(sum, 6 pairs, width=8)"
    assert state_explorer([(0, 1), (1, 2), (0, 9)]).writes == [[0, 1], [1, 2], [0, 9]]


@pytest.mark.parametrize(
    ("writes", "options", "error", "says"),
    [
        ([], {}, ValueError, "writes must be from 1 to 48 pairs, got 0"),
        ([(0, 1)] * 49, {}, ValueError, "writes must be from 1 to 48 pairs, got 49"),
        ([(1, 1)], {}, ValueError, r"each pair must be a key from 0 to 0, .*got \[1, 1\]"),
        ([(0, 10)], {}, ValueError, r"a value from 0 to 9, got \[0, 10\]"),
        ([(0, 1, 2)], {}, ValueError, r"each pair must be .*got \[0, 1, 2\]"),
        ([(0, 1.5)], {}, TypeError, r"writes must be a sequence of ints, got \(0, 1\.5\)"),
        ([(0, 1)], {"kind": "lru"}, ValueError, "kind must be one of softmax, .*got 'lru'"),
        ([(0, 1)], {"width": 6}, ValueError, "width must be a power of two from 4 to 32, got 6"),
        ([(0, 1)], {"width": 8.0}, TypeError, "width must be an int, got float"),
        ([(0, 1)], {"fade": 0.4}, ValueError, r"fade must be from 0\.5 to 1, got 0\.4"),
        ([(0, 1)], {"fade": "1"}, TypeError, "fade must be a number, got str"),
        ([(0, 1)], {"asked": 1}, ValueError, "asked must be a key that was written, got 1"),
    ],
)
def test_wrong_arguments_are_said(
    writes: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        state_explorer(writes, **options)
