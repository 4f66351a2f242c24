"""Arguments that `heatmap` accepts and refuses, and what it sends and says."""

import json
from typing import Any

import numpy as np
import pytest
import torch

from course_utils.widgets import Heatmap, heatmap
from course_utils.widgets.weights import MAX_VALUES


def sent(widget: Heatmap) -> np.ndarray:
    """The values as the page reads them."""
    kind = {"float32": "<f4", "float16": "<f2"}[widget.encoding]
    return np.frombuffer(widget.data, kind).reshape(widget.shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "full", "text"),
    [
        ((2, 3), [1, 1, 2, 3], "Heatmap(2 x 3)"),
        ((4, 2, 3), [1, 4, 2, 3], "Heatmap(4 heads, 2 x 3)"),
        ((5, 4, 2, 3), [5, 4, 2, 3], "Heatmap(5 layers, 4 heads, 2 x 3)"),
        ((5, 1, 1, 1), [5, 1, 1, 1], "Heatmap(5 layers, 1 x 1)"),
    ],
)
def test_one_matrix_heads_and_layers(shape: tuple[int, ...], full: list[int], text: str) -> None:
    weights = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    widget = heatmap(weights)
    assert widget.shape == full
    assert repr(widget) == text
    np.testing.assert_array_equal(sent(widget), weights.reshape(full).numpy())


@pytest.mark.parametrize(
    "weights",
    [
        [[0.5, 0.5], [0.25, 0.75]],
        np.array([[0.5, 0.5], [0.25, 0.75]]),
        torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.bfloat16),
        torch.tensor([[0.5, 0.5], [0.25, 0.75]], requires_grad=True),
        torch.tensor([[0.5, 0.25], [0.5, 0.75]], dtype=torch.float64).T,
    ],
    ids=["lists", "numpy", "bfloat16", "gradient", "transposed"],
)
def test_any_kind_of_numbers(weights: Any) -> None:
    np.testing.assert_array_equal(sent(heatmap(weights))[0, 0], [[0.5, 0.5], [0.25, 0.75]])


def test_masks_are_zeros_and_ones() -> None:
    assert sent(heatmap(torch.tensor([[True, False]]))).tolist() == [[[[1.0, 0.0]]]]


def test_many_values_keep_three_digits_at_half_the_size() -> None:
    weights = torch.rand(8, 512, 512, generator=torch.Generator().manual_seed(1)).softmax(-1)
    widget = heatmap(weights)
    assert widget.encoding == "float16"
    assert len(widget.data) == 2 * weights.numel()
    np.testing.assert_allclose(sent(widget)[0], weights.numpy(), rtol=2**-11, atol=2**-25)


def test_many_values_beyond_float16_are_sent_exactly() -> None:
    weights = np.full((300, 300), 1e6, dtype=np.float32)
    assert heatmap(weights).encoding == "float32"


def test_what_is_not_finite_is_kept() -> None:
    for size in (2, 300):
        weights = np.zeros((size, size))
        weights[0, :2] = np.nan, np.inf
        kept = sent(heatmap(weights))[0, 0]
        assert np.isnan(kept[0, 0])
        assert kept[0, 1] == np.inf


def test_state_is_json_but_for_the_bytes() -> None:
    state = heatmap([[0.5, np.nan]], ["q"], ["a", "قطة"]).get_state()
    assert isinstance(state.pop("data"), bytes)
    json.dumps(state, allow_nan=False, default=lambda model: "IPY_MODEL_x")


@pytest.mark.parametrize(
    ("weights", "more", "error", "says"),
    [
        ([0.5], {}, ValueError, r"must be \(L, S\).*got shape \(1,\)"),
        (np.zeros((1, 1, 1, 1, 1)), {}, ValueError, r"got shape \(1, 1, 1, 1, 1\)"),
        (np.zeros((0, 3)), {}, ValueError, r"no empty axis, got shape \(0, 3\)"),
        ([[0.5], [0.5, 0.5]], {}, ValueError, "rows of one length, got"),
        (np.broadcast_to(0.0, (MAX_VALUES, 2)), {}, ValueError, "at most 16,777,216 values"),
        ([["a"]], {}, TypeError, "must be real numbers, got an array of <U1"),
        (torch.ones(1, 1, dtype=torch.complex64), {}, TypeError, "got an array of complex64"),
        ([[1.0]], {"key_tokens": ["a", "b"]}, ValueError, "one string per key, 1, got 2"),
        ([[1.0]], {"query_tokens": "a"}, TypeError, "sequence of strings, got 'a'"),
        ([[1.0]], {"query_tokens": [3]}, TypeError, r"query_tokens must.*got \[3\]"),
        ([[1.0]], {"head_names": ["a", "b"]}, ValueError, "one string per head, 1, got 2"),
        ([[1.0]], {"layer_names": []}, ValueError, "one string per layer, 1, got 0"),
        ([[1.0]], {"title": 3}, TypeError, "title must be a str, got int"),
        ([[1.0]], {"other": [[1.0, 2.0]]}, ValueError,
         r"other must have the weights' shape, \(1, 1, 1, 1\).*got \(1, 1, 1, 2\)"),
        ([[1.0]], {"other": [["a"]]}, TypeError, "other must be real numbers"),
        (np.broadcast_to(0.0, (MAX_VALUES, 1)), {"other": np.broadcast_to(0.0, (MAX_VALUES, 1))},
         ValueError, "weights and other must have at most 16,777,216 values, got 33,554,432"),
        ([[1.0]], {"other": [[1.0]], "pair_names": ["a"]}, ValueError, "one string per stack, 2"),
        ([[1.0]], {"view": "side"}, ValueError, "view must be one of first here, got 'side'"),
        ([[[1.0]]] * 2, {"view": "second"}, ValueError, "one of first, side, difference here"),
        ([[1.0]], {"color_range": "log"}, ValueError, "one of auto, unit, all, head, got 'log'"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_said(
    weights: Any, more: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        heatmap(weights, **more)


def test_a_choice_that_does_not_exist_is_refused() -> None:
    widget = heatmap(np.zeros((2, 3, 4, 5)))
    widget.head, widget.layer, widget.cell = 2, 1, [3, 4]
    with pytest.raises(ValueError, match=r"head must be in 0..2, got 3"):
        widget.head = 3
    with pytest.raises(ValueError, match=r"layer must be in 0..1, got -1"):
        widget.layer = -1
    with pytest.raises(ValueError, match=r"cell must be \[query, key\] inside \[4, 5\]"):
        widget.cell = [4, 0]
    with pytest.raises(ValueError, match=r"partner must be \[layer, head\] inside \[2, 3\]"):
        widget.partner = [2, 0]


def test_two_stacks_are_sent_one_after_the_other() -> None:
    before, after = np.random.default_rng(2).random((2, 3, 4, 5)).astype(np.float32)
    widget = heatmap(before, other=torch.tensor(after), pair_names=("before", "after"))
    assert repr(widget) == "Heatmap(3 heads, 4 x 5, before and after)"
    assert widget.view == "side"
    both = np.frombuffer(widget.data, "<f4").reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(both, np.stack([before, after]))


def test_a_head_is_compared_with_the_next_one_and_a_layer_with_the_next() -> None:
    assert heatmap(np.zeros((2, 3, 4, 5)), view="side").partner == [0, 1]
    assert heatmap(np.zeros((2, 1, 4, 5)), view="difference").partner == [1, 0]
    assert heatmap(np.zeros((4, 5))).partner == [0, 0]
