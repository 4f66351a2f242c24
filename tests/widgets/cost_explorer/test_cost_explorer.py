"""Arguments that `cost_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import CostExplorer, cost_explorer
from course_utils.widgets.cost_explorer.cost_explorer import CHOICES, PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_every_published_size_is_a_place_of_its_slider(name: str) -> None:
    widget = cost_explorer(name)
    for part, value in PRESETS[name].items():
        assert getattr(widget, part) == value
        assert part == "form" or value in CHOICES[part]


def test_it_says_its_model() -> None:
    assert repr(cost_explorer("GPT-3")) == "CostExplorer(width 12288, 96 layers, bytes)"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"d_model": 100}, "d_model must be one of 64, .*, got 100"),
        ({"trained": 0.2}, "trained must be one of 0.0006, 0.01, 0.1, 0.5, 1, got 0.2"),
        ({"view": "flops"}, "view must be one of parameters, operations, bytes, got 'flops'"),
        ({"preset": "GPT-5"}, "preset must be one of GPT-2, .*, got 'GPT-5'"),
    ],
)
def test_wrong_values_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cost_explorer(**changes)


def test_wrong_settings_are_said() -> None:
    with pytest.raises(TypeError, match=r"settings must be among batch, .*, got width"):
        cost_explorer(width=3)


def test_a_control_of_the_page_cannot_leave_its_places() -> None:
    widget: CostExplorer = cost_explorer()
    with pytest.raises(ValueError, match="batch must be one of"):
        widget.batch = 3
    assert widget.batch == 8
