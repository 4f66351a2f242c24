"""Arguments that `head_grid` accepts and refuses."""

from typing import Any

import numpy as np
import pytest

from course_utils.widgets import head_grid


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2, 3), "HeadGrid(1 heads, 2 x 3)"),
        ((4, 2, 3), "HeadGrid(4 heads, 2 x 3)"),
        ((5, 4, 2, 3), "HeadGrid(5 layers, 4 heads, 2 x 3)"),
    ],
)
def test_one_matrix_heads_and_layers(shape: tuple[int, ...], text: str) -> None:
    parts = np.ones((*shape[:-1], 7))
    widget = head_grid(np.zeros(shape), contributions=parts)
    assert repr(widget) == text
    assert np.frombuffer(widget.parts, "<f4").size == parts.size
    assert head_grid(np.zeros(shape)).parts == b""


@pytest.mark.parametrize(
    ("weights", "more", "error", "says"),
    [
        ([0.5], {}, ValueError, r"weights must be \(L, S\)"),
        ([[1.0]], {"key_tokens": ["a", "b"]}, ValueError, "one string per key, 1, got 2"),
        ([[1.0]], {"head_names": "a"}, TypeError, "head_names must be a sequence of strings"),
        ([[1.0]], {"title": 3}, TypeError, "title must be a str, got int"),
        (np.ones((2, 3, 4)), {"contributions": np.ones((2, 4, 5))}, ValueError,
         r"contributions must have .*\(1, 2, 3\), got \(1, 2, 4\)"),
        ([[1.0]], {"contributions": [[np.nan]]}, ValueError, "contributions must be finite"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_said(
    weights: Any, more: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        head_grid(weights, **more)


def test_a_choice_that_does_not_exist_is_refused() -> None:
    widget = head_grid(np.zeros((2, 3, 4, 5)))
    widget.layer, widget.cell, widget.off = 1, [3, 4], [[1, 2], [0, 0]]
    with pytest.raises(ValueError, match=r"layer must be in 0..1, got 2"):
        widget.layer = 2
    with pytest.raises(ValueError, match=r"cell must be \[query, key\] inside \[4, 5\]"):
        widget.cell = [4, 0]
    with pytest.raises(ValueError, match=r"off must hold \[layer, head\] inside \[2, 3\]"):
        widget.off = [[0, 3]]
