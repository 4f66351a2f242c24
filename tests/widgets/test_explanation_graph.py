"""What explanation_graph accepts, refuses, and shows on a page."""

from collections.abc import Callable
from typing import Any

import explanation_graph_cases
import numpy as np
import pytest
from playwright.sync_api import Page, expect
from widget_page import assert_readable

from course_utils.widgets import ExplanationGraph, explanation_graph

Show = Callable[..., Page]
EVEN = np.full((2, 1, 3, 3), 1 / 3)


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = explanation_graph_cases.PATH.read_text(encoding="utf-8")
    assert stored == explanation_graph_cases.text(), "run tests/widgets/explanation_graph_cases.py"


def test_it_starts_at_the_token_that_counts_most_and_at_the_reader() -> None:
    graph = explanation_graph(["a", "b", "c"], EVEN, EVEN, [0.9, 0.1, 0.3], method="raw")
    assert (graph.source, graph.target, graph.layer, graph.head) == (2, [2, 0], 1, -1)
    assert (graph.shape, graph.importance) == ([2, 1, 3], [0.9, 0.1, 0.3])
    assert repr(graph) == "ExplanationGraph(2 layers, 1 heads, 3 tokens)"
    np.testing.assert_allclose(np.frombuffer(graph.weights, "<f4"), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tokens": ["a"]}, "tokens must be from 2 to 24, got 1"),
        (
            {"method": "entropy"},
            "method must be one of raw, rollout, flow, gradient, got 'entropy'",
        ),
        ({"reader": 3}, "reader must be from 0 to 2, got 3"),
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


@pytest.mark.browser
@pytest.mark.parametrize("over", ["http", "file"])
def test_it_lives_without_a_kernel(open_page: Show, over: str) -> None:
    graph = explanation_graph_cases.widget()
    flows = explanation_graph_cases.explained(graph)["flow"]
    page = open_page([graph], over=over)
    said = page.locator(".acw-said")
    expect(said).to_contain_text(f"above layer 2: {flows[graph.source]:.3f}")
    page.get_by_label("input token").select_option("2: a<b")
    expect(said).to_contain_text(f"from a<b to [class] above layer 2: {flows[2]:.3f}")
    page.locator('[data-node="0 4"]').hover()
    expect(said).to_contain_text("from jezyk to")
    page.locator('[data-node="1 4"]').click()
    page.mouse.move(0, 0)
    expect(said).to_contain_text("from a<b to jezyk above layer 1")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("method", "theme", "width"), [("flow", "light", 900), ("raw", "dark", 390)]
)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    open_page: Show, method: str, theme: str, width: int
) -> None:
    page = open_page([explanation_graph_cases.widget(method=method)], theme=theme, width=width)
    page.get_by_text("As a table").click()
    assert_readable(page, width)
