"""Arguments that `decode_stepper` accepts and refuses."""

import json

import pytest

from course_utils.widgets import DecodeStepper, decode_stepper


def test_the_page_gets_the_text_and_the_sizes() -> None:
    widget = decode_stepper(["a", "bc", "d"], prompt=2, kind="gqa", num_layers=3)
    assert repr(widget) == "DecodeStepper(gqa, 2 of 3 tokens given)"
    assert (widget.tokens, widget.chunk, widget.num_layers) == (["a", "bc", "d"], 2, 3)
    assert json.dumps(widget.tokens)


def test_it_opens_with_something_in_the_cache() -> None:
    assert decode_stepper().step == 9
    assert decode_stepper(["a", "b"], prompt=1).step == 1
    assert decode_stepper(step=0).step == 0


def test_wrong_kinds_of_arguments_are_said() -> None:
    with pytest.raises(TypeError, match="tokens must be a sequence of strings, got 'a b'"):
        decode_stepper("a b")
    with pytest.raises(TypeError, match=r"sizes must be among bytes_per_element, .*, got 'heads'"):
        decode_stepper(heads=3)


def test_a_control_of_the_page_cannot_leave_its_range() -> None:
    widget: DecodeStepper = decode_stepper()
    with pytest.raises(ValueError, match="num_layers must be from 1 to 96, got 97"):
        widget.num_layers = 97
    assert widget.num_layers == 12
