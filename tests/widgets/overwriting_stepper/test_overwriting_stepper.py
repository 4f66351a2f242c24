"""Arguments that `overwriting_stepper` takes, from a record, and refuses."""

import pytest
import torch

from course_utils.measure import read_record
from course_utils.widgets import overwriting_stepper

RECORD = read_record("chapter_01_overwriting")


def test_it_opens_with_some_symbols_read() -> None:
    widget = overwriting_stepper(RECORD)
    assert repr(widget) == "OverwritingStepper(4 sources, 5 symbols read)"
    assert [len(row) for row in widget.shares] == list(range(1, 21))
    assert torch.tensor(widget.states).shape == (4, 20, 64)


def test_a_state_is_the_same_until_another_symbol_is_read() -> None:
    """Two sources that begin alike have one state as long as they do."""
    first, second = (RECORD["examples"][i] for i in (1, 3))
    same = [a == b for a, b in zip(first["source"], second["source"], strict=True)].index(False)
    assert same == 2
    assert first["states"][:same] == second["states"][:same]
    assert first["states"][same] != second["states"][same]


def test_wrong_arguments_are_said() -> None:
    with pytest.raises(TypeError, match="record must be"):
        overwriting_stepper([])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="got no examples"):
        overwriting_stepper({"runs": [], "settings": {}})
    with pytest.raises(ValueError, match=r"example must be in 0\.\.3, got 4"):
        overwriting_stepper(RECORD, example=4)
    with pytest.raises(ValueError, match="step must be from 0 to 20, got 21"):
        overwriting_stepper(RECORD, step=21)
