"""Arguments that `ring_stepper` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import ring_stepper


def test_it_opens_after_the_first_rotation() -> None:
    widget = ring_stepper()
    assert repr(widget) == "RingStepper(4 ranks of 4 tokens, contiguous, causal, step 1)"
    assert widget.view == "ring"
    assert ring_stepper(1).step == ring_stepper(step=0).step == 0
    shown = repr(ring_stepper(2, 8, token_layout="zigzag", is_causal=False, step=1))
    assert shown == "RingStepper(2 ranks of 8 tokens, zigzag, step 1)"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tokens_per_rank": 3}, "tokens_per_rank must be even, got 3"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ring_stepper(**arguments)


@pytest.mark.parametrize("arguments", [{"world_size": 2.0}, {"step": True}, {"is_causal": 1}])
def test_wrong_kinds_are_said(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be"):
        ring_stepper(**arguments)
