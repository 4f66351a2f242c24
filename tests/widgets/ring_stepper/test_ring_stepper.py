"""Arguments that `ring_stepper` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import ring_stepper


def test_it_opens_before_the_first_rotation() -> None:
    widget = ring_stepper()
    assert repr(widget) == "RingStepper(4 ranks of 4 tokens, contiguous, causal, step 0)"
    assert widget.view == "ring"
    shown = repr(ring_stepper(2, 8, token_layout="zigzag", is_causal=False, step=1))
    assert shown == "RingStepper(2 ranks of 8 tokens, zigzag, step 1)"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"world_size": 0}, "world_size must be from 1 to 8, got 0"),
        ({"world_size": 9}, "world_size must be from 1 to 8, got 9"),
        ({"tokens_per_rank": 10}, "tokens_per_rank must be from 2 to 8, got 10"),
        ({"tokens_per_rank": 3}, "tokens_per_rank must be even, got 3"),
        ({"token_layout": "ring"}, "token_layout must be one of .*, got 'ring'"),
        ({"view": "tensor"}, "view must be one of .*, got 'tensor'"),
        ({"step": 4}, "step must be from 0 to 3, got 4"),
        ({"num_heads": 17}, "num_heads must be from 1 to 16, got 17"),
        ({"d_k": 0}, "d_k must be at least 1, got 0"),
        ({"bytes_per_element": 0}, "bytes_per_element must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ring_stepper(**arguments)


@pytest.mark.parametrize("arguments", [{"world_size": 2.0}, {"step": True}, {"is_causal": 1}])
def test_wrong_kinds_are_said(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be"):
        ring_stepper(**arguments)
