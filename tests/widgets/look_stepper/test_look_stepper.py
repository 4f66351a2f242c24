"""Arguments that `look_stepper` accepts and refuses."""

import math
from typing import Any

import pytest

from course_utils.widgets import look_stepper


def test_it_opens_with_the_first_context() -> None:
    assert repr(look_stepper()) == "LookStepper(3 words, factor=2, step=3)"
    assert look_stepper(step=12).step == 12


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"words": ()}, "1 to 6 words must have a state"),
        ({"words": [("a", "b")]}, "got 1 words and states of"),
        ({"states": [[1.0], [1.0, 2.0], [0.0, 1.0]]}, "two numbers each"),
        ({"states": [[math.inf, 0.0]] * 3}, "states must be finite"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        look_stepper(**arguments)


def test_a_factor_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(TypeError, match="factor"):
        look_stepper(factor="2")  # type: ignore[arg-type]
