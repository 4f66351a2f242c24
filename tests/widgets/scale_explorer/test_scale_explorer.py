"""Arguments that `scale_explorer` accepts and refuses."""

from typing import Any

import pytest

from course_utils.widgets import scale_explorer


def test_it_opens_unscaled_where_nothing_has_saturated() -> None:
    assert repr(scale_explorer()) == (
        "ScaleExplorer(d_k=4, temperature=1, scaled=False, num_keys=16, seed=12)"
    )


@pytest.mark.parametrize("d_k", [2**power for power in range(11)])
def test_every_power_of_two_is_a_width(d_k: int) -> None:
    assert scale_explorer(d_k=d_k).d_k == d_k


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"d_k": 48}, ValueError, "d_k must be a power of two from 1 to 1024, got 48"),
        ({"d_k": 2048}, ValueError, "got 2048"),
        ({"d_k": 4.0}, TypeError, r"d_k must be an int, got float"),
        ({"temperature": 0}, ValueError, r"temperature must be from 0\.1 to 10, got 0\.0"),
        ({"temperature": float("nan")}, ValueError, "got nan"),
        ({"temperature": "1"}, TypeError, "temperature must be a number, got str"),
        ({"num_keys": 1}, ValueError, "num_keys must be from 2 to 32, got 1"),
        ({"num_keys": True}, TypeError, "num_keys must be an int, got bool"),
        ({"seed": -1}, ValueError, "seed must be from 0 to 2147483647, got -1"),
        ({"scaled": 1}, TypeError, "scaled must be a bool, got int"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        scale_explorer(**arguments)
