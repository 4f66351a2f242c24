"""The line that says what else is judged follows from the cases."""

from dataclasses import replace

import torch

from course_utils.checking.exercise import case
from course_utils.checking.stated import also_judged
from tests.checking.toy import TOY


def with_cases(*inputs: torch.Tensor, **more: str) -> str:
    cases = [case(str(i), lambda g, x=x: (x.clone(),), **more) for i, x in enumerate(inputs)]
    return also_judged(replace(TOY, cases=tuple(cases), costs=()))


def test_what_cases_hold_is_said() -> None:
    assert also_judged(TOY) == "gradients; float64 kept; the cost (the largest tensor)"
    assert with_cases(torch.ones(3), torch.ones(3).double()) == "float64 and float32, each kept"
    assert with_cases(torch.ones(3), gradient="finite") == "a gradient that is finite; float32 kept"
    assert "large values (tens of thousands)" in with_cases(torch.full((2,), -12_000.0))
    assert "empty inputs" in with_cases(torch.ones(0, 3))
    assert with_cases(torch.ones(2, 3, dtype=torch.long)) == ""


def test_what_a_case_hands_on_counts_and_not_what_it_was_made_of() -> None:
    halved = case("", lambda g: (torch.full((2, 3), 900.0),), run=lambda fn, x: fn(x[:0]))
    assert also_judged(replace(TOY, cases=(halved,), costs=())) == "float32 kept; empty inputs"
