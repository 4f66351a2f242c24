"""What modules and caches, and what writes with them, do with arguments of the wrong kind."""

import attention_calls
import model_calls
import position_calls
import pytest
import transformer_calls
import vision_calls
import writing_calls
from call_table import Call
from refusal import WRONG, call, reshaped
from torch import Tensor

TABLES = (
    attention_calls,
    position_calls,
    model_calls,
    writing_calls,
    transformer_calls,
    vision_calls,
)
CALLS = tuple(entry for table in TABLES for entry in table.CALLS)
each_call = pytest.mark.parametrize("entry", CALLS, ids=lambda entry: entry.name)


@each_call
def test_valid_arguments_are_served(entry: Call) -> None:
    entry.function(**entry.arguments())


@pytest.mark.thorough
@each_call
def test_arguments_of_a_wrong_kind_are_served_or_refused(entry: Call) -> None:
    for name in entry.names():
        for wrong in WRONG:
            given = entry.arguments()
            if isinstance(given.get(name), Tensor) or not isinstance(wrong, Tensor):
                call(entry.function, given | {name: wrong})


@pytest.mark.thorough
@each_call
def test_tensors_of_another_shape_or_dtype_are_served_or_refused(entry: Call) -> None:
    values = entry.arguments()
    for name in entry.names():
        for number in range(len(reshaped(values.get(name)))):
            given = entry.arguments()
            call(entry.function, given | {name: reshaped(given[name])[number]})
