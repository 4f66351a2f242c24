"""Arguments that `budget_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import BudgetExplorer, budget_explorer
from course_utils.widgets.budget_explorer.budget_explorer import CHOICES, PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_every_published_size_is_a_place_of_its_slider(name: str) -> None:
    widget = budget_explorer(name)
    for part, value in PRESETS[name].items():
        assert getattr(widget, part) == value
        assert part == "form" or value in CHOICES[part]


def test_a_law_of_the_readers_own_is_offered() -> None:
    widget = budget_explorer("GPT-3", own={"ours": [9.3, 25.6, 0.26, 0.27, 0.0]}, law="ours")
    assert repr(widget) == "BudgetExplorer(width 12288, 96 layers, ours)"
    assert list(widget.laws)[-1] == "ours"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"d_model": 100}, "d_model must be one of 64, .*, got 100"),
        ({"trained": 0.2}, "trained must be one of 0.0006, 0.01, 0.1, 0.5, 1, got 0.2"),
        ({"own": {"x": [1, 1, 1, 1]}}, r"a law must be A, B, alpha, beta > 0 and E >= 0, got \[1,"),
        ({"own": {"x": [1, 1, 0, 1, 1]}}, "a law must be A, B, alpha, beta > 0"),
    ],
)
def test_wrong_values_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        budget_explorer(**changes)


def test_wrong_settings_are_said() -> None:
    with pytest.raises(TypeError, match=r"settings must be among batch, .*, got width"):
        budget_explorer(width=3)


def test_a_control_of_the_page_cannot_leave_its_places() -> None:
    widget: BudgetExplorer = budget_explorer()
    with pytest.raises(ValueError, match="batch must be one of"):
        widget.batch = 3
    assert widget.batch == 8
