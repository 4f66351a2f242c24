"""Arguments that `explanation_graph` accepts and refuses."""

from typing import Any

import numpy as np
import pytest

from course_utils.widgets import ExplanationGraph, explanation_graph
from tests.widgets.explanation_graph import explanation_graph_cases

EVEN = np.full((2, 1, 3, 3), 1 / 3)


def test_it_starts_at_the_token_that_counts_most_and_at_the_reader() -> None:
    graph = explanation_graph(["a", "b", "c"], EVEN, EVEN, [0.9, 0.1, 0.3], method="raw")
    assert (graph.source, graph.target, graph.layer, graph.head) == (2, [2, 0], 1, -1)
    assert (graph.shape, graph.importance) == ([2, 1, 3], [0.9, 0.1, 0.3])
    assert repr(graph) == "ExplanationGraph(2 layers, 1 heads, 3 tokens)"
    np.testing.assert_allclose(np.frombuffer(graph.weights, "<f4"), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"method": "entropy"},
            "method must be one of raw, rollout, flow, gradient, got 'entropy'",
        ),
        ({"layers": EVEN[..., :2]}, r"layers must be .* got shape \(2, 1, 3, 2\)"),
        ({"gradients": EVEN[:1]}, r"gradients must be .* got shape \(1, 1, 3, 3\)"),
        ({"layers": np.tile(EVEN, (3, 1, 1, 1))}, r"layers must be \(1 to 4 layers.* got shape"),
        ({"gradients": EVEN * np.nan}, "gradients must hold finite numbers, got NaN or inf"),
        ({"importance": [0.1, 0.2]}, "importance must hold a finite number for each of 3 tokens"),
    ],
)
def test_wrong_values_are_said(changes: dict[str, Any], says: str) -> None:
    given = {"tokens": ["a", "b", "c"], "layers": EVEN, "gradients": EVEN, "importance": [0, 1, 2]}
    given |= changes
    with pytest.raises(ValueError, match=says):
        explanation_graph(**given)


def test_tokens_must_be_several() -> None:
    with pytest.raises(TypeError, match="tokens must be a sequence of strings, got 'abc'"):
        explanation_graph("abc", EVEN, EVEN, [0, 1, 2])


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("layer", 2, r"layer must be in 0\.\.1, got 2"),
        ("head", 3, r"head must be in -1\.\.2, got 3"),
        ("source", 6, r"source must be in 0\.\.5, got 6"),
        ("residual", 1.1, "residual must be from 0 to 1, got 1.1"),
        ("target", [0, 1], r"target must be \[layer from 1, position\] inside"),
    ],
)
def test_a_control_of_the_page_cannot_leave_its_range(trait: str, value: Any, says: str) -> None:
    graph: ExplanationGraph = explanation_graph_cases.widget()
    before = getattr(graph, trait)
    with pytest.raises(ValueError, match=says):
        setattr(graph, trait, value)
    assert getattr(graph, trait) == before
