"""Each sentence about numbers, strings and other plain objects, and what it lets pass."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course_utils import plain_validation as plain

REFUSED: list[tuple[Callable[..., None], tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (plain.check_int, (), {"n": 1.0}, TypeError, "n must be an int, got float"),
    (plain.check_int, (), {"m": 1, "n": True}, TypeError, "n must be an int, got bool"),
    (plain.check_int, (), {"n": None}, TypeError, "n must be an int, got NoneType"),
    (plain.check_ints, (), {"n": 3}, TypeError, "n must be a sequence of ints, got 3"),
    (plain.check_ints, (), {"n": [1, True]}, TypeError,
     "must be a sequence of ints, got [1, True]"),
    (plain.check_ints, (), {"n": "12"}, TypeError, "n must be a sequence of ints, got '12'"),
    (plain.check_at_least, (2,), {"m": 2, "n": 1}, ValueError, "n must be at least 2, got 1"),
    (plain.check_at_least, (0,), {"n": -1}, ValueError, "n must be at least 0, got -1"),
    (plain.check_at_least, (0,), {"n": 0.5}, TypeError, "n must be an int, got float"),
    (plain.check_number, (), {"n": True}, TypeError, "n must be a number, got bool"),
    (plain.check_number, (), {"n": "1"}, TypeError, "n must be a number, got str"),
    (plain.check_number, (), {"n": 1j}, TypeError, "n must be a number, got complex"),
    (plain.check_positive, (), {"n": 0}, ValueError, "n must be a positive number, got 0"),
    (plain.check_positive, (), {"n": -0.1}, ValueError, "n must be a positive number, got -0.1"),
    (plain.check_positive, (), {"n": math.inf}, ValueError, "must be a positive number, got inf"),
    (plain.check_positive, (), {"n": math.nan}, ValueError, "must be a positive number, got nan"),
    (plain.check_positive, (), {"n": None}, TypeError, "n must be a number, got NoneType"),
    (plain.check_factor, (0.5,), {}, ValueError, "factor must be at least 1 and finite, got 0.5"),
    (plain.check_factor, (math.inf,), {}, ValueError, "must be at least 1 and finite, got inf"),
    (plain.check_factor, (math.nan,), {}, ValueError, "must be at least 1 and finite, got nan"),
    (plain.check_factor, ("2",), {}, TypeError, "factor must be a number, got str"),
    (plain.check_even, (), {"n": 3}, ValueError, "n must be even, got 3"),
    (plain.check_even, (), {"n": 0}, ValueError, "n must be at least 2, got 0"),
    (plain.check_num_heads, (0, 6), {}, ValueError, "at least 1 and divide the width 6, got 0"),
    (plain.check_num_heads, (4, 6), {}, ValueError, "at least 1 and divide the width 6, got 4"),
    (plain.check_num_heads, (2, 6.0), {}, TypeError, "d_model must be an int, got float"),
    (plain.check_instance, (dict,), {"n": 3}, TypeError, "n must be a dict, got int"),
    (plain.check_strings, (), {"n": "ab"}, TypeError, "n must be a sequence of strings, got 'ab'"),
    (plain.check_strings, (), {"n": ["a", 1]}, TypeError, "sequence of strings, got ['a', 1]"),
    (plain.check_strings, (), {"n": {"a"}}, TypeError,
     "n must be a sequence of strings, got {'a'}"),
    (plain.check_callable, (), {"n": 3}, TypeError, "n must be callable, got int"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "given", "named", "error", "says"), REFUSED)
def test_what_must_hold_is_said(check, given, named, error, says) -> None:
    with pytest.raises(error) as raised:
        check(*given, **named)
    assert says in str(raised.value)


def test_what_holds_passes() -> None:
    plain.check_int(n=0, m=-3)
    plain.check_ints(n=[], m=(1, 2), k=range(3))
    plain.check_at_least(2, n=2)
    plain.check_number(n=1, m=0.5, k=np.float64(2.0))
    plain.check_positive(n=1, m=1e-300)
    plain.check_factor(1)
    plain.check_even(n=2, m=64)
    plain.check_num_heads(6, 6)
    plain.check_instance(bool, n=True)
    plain.check_strings(n=["a"], m=())
    plain.check_callable(n=len)
