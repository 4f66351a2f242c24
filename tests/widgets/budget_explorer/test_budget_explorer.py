"""Arguments that `budget_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import budget_explorer


def test_a_run_brings_its_own_budget() -> None:
    assert budget_explorer("Chinchilla").budget == 23.77
    assert budget_explorer("Chinchilla", budget=20).budget == 20


def test_a_law_of_the_readers_own_is_offered() -> None:
    widget = budget_explorer(own={"ours": [9.3, 25.6, 0.26, 0.27, 0.0]}, law="ours", budget=23.5)
    assert repr(widget) == "BudgetExplorer(GPT-3, budget 10^23.5, ours)"
    assert list(widget.laws)[-1] == "ours"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"run": "GPT-5"}, "run must be one of GPT-3, .*, got 'GPT-5'"),
        ({"budget": 28}, "budget must be from 12 to 27, got 28"),
        ({"own": {"x": [1, 1, 1, 1]}}, r"a law must be A, B, alpha, beta > 0 and E >= 0, got \[1,"),
        ({"own": {"x": [1, 1, 0, 1, 1]}}, "a law must be A, B, alpha, beta > 0"),
    ],
)
def test_wrong_values_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        budget_explorer(**changes)
