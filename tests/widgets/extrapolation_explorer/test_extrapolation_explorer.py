"""Arguments that `extrapolation_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import ExtrapolationExplorer, extrapolation_explorer

GROUPS = {"no positions": ["none"], "turned": ["RoPE", "RoPE + YaRN"]}
TEXT = {
    "none": {64: [2.0, 2.2], 128: [2.3]},
    "RoPE": {64: [1.5], 128: [3.0, 3.5]},
    "RoPE + YaRN": {64: [1.5], 128: [1.6]},
}
COPY = {
    "none": {32: [0.3], 64: [0.2]},
    "RoPE": {32: [1.0], 64: [0.9]},
    "RoPE + YaRN": {32: [1.0], 64: [1.0]},
}


def explorer(**changes: Any) -> ExtrapolationExplorer:
    tasks = {"text": ("loss", TEXT), "copy": ("accuracy", COPY)}
    return extrapolation_explorer(**{"tasks": tasks, "groups": GROUPS, **changes})


def test_the_page_gets_the_range_and_the_mean_of_the_runs() -> None:
    widget = explorer()
    assert repr(widget) == "ExtrapolationExplorer(text and copy, 3 schemes)"
    text, copy = widget.tasks
    assert text["curves"][0] == ["none", [[2.0, pytest.approx(2.1), 2.2], [2.3, 2.3, 2.3]]]
    assert (text["trained"], text["lower"], copy["trained"], copy["lower"]) == (64, True, 32, False)
    assert widget.chosen == ["none", "RoPE", "RoPE + YaRN"]
    assert explorer(chosen=["RoPE"]).chosen == ["RoPE"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tasks": {}}, "tasks must be at least one"),
        ({"tasks": {"text": ("speed", TEXT)}}, 'must be "loss" or "accuracy", got \'speed\''),
        ({"tasks": {"text": ("loss", {"none": TEXT["none"]})}}, r"text must have the schemes"),
        ({"tasks": {"text": ("loss", {**TEXT, "RoPE": {64: [1.0]}})}}, "RoPE must have a run"),
        (
            {"tasks": {"text": ("loss", {**TEXT, "RoPE": {64: [1.0], 128: []}})}},
            r"RoPE must have a run of text at each of \[64, 128\]",
        ),
        (
            {"tasks": {"a": ("loss", TEXT), "b": ("loss", {k: {9: [1.0]} for k in TEXT})}},
            "all with as many lengths",
        ),
        ({"groups": {"all": list("abcdef")}}, "at most five schemes each"),
        ({"chosen": ["ALiBi"]}, r"chosen must be among .*, got \['ALiBi'\]"),
    ],
)
def test_wrong_arguments_are_said(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explorer(**changes)


def test_a_task_or_length_that_does_not_exist_is_refused() -> None:
    widget = explorer()
    widget.task, widget.index = 1, 1
    with pytest.raises(ValueError, match="task must be from 0 to 1, got 2"):
        widget.task = 2
    with pytest.raises(ValueError, match="index must be from 0 to 1, got -1"):
        widget.index = -1
