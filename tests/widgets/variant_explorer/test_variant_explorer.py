"""Arguments that `variant_explorer` accepts and refuses."""

import json
from typing import Any

import pytest

from course_utils.widgets import VariantExplorer, variant_explorer

RUNS = [
    {"what": name, "length": n, "milliseconds": ms * n / 512, "flops": 1}
    for name, ms in (("SDPA, causal", 4.0), ("sliding window", 2.0))
    for n in (512, 1024, 2048, 4096)
]


def test_the_page_gets_the_times_of_each_variant() -> None:
    widget = variant_explorer(RUNS)
    assert repr(widget) == "VariantExplorer(window, 4096 tokens, 2 curves)"
    assert widget.curves["sliding window"][1] == [1024, 4.0]
    assert json.dumps(widget.curves)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_kv_heads": 16}, "num_kv_heads must be at most num_heads = 8, got 16"),
    ],
)
def test_wrong_arguments_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        variant_explorer(RUNS, **changes)


def test_a_control_of_the_page_cannot_leave_its_range() -> None:
    widget: VariantExplorer = variant_explorer()
    widget.length = 512
    with pytest.raises(ValueError, match="length must be"):
        widget.length = 513
    assert widget.length == 512
