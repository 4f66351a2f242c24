"""Matching beside scipy's, and where a greedy choice loses."""

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from course_utils.models import match_queries

SIZES = [(2, 3, 2), (3, 5, 5), (1, 8, 3), (4, 6, 4), (2, 1, 1), (2, 8, 1), (1, 8, 8)]


def drawn(*shape: int) -> Tensor:
    g = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.peer(
    "14", "`match_queries`", "`scipy.optimize.linear_sum_assignment`, as in `HungarianMatcher`",
    "equal", "outputs",
)  # fmt: skip
def test_agrees_with_scipy(shape, dtype) -> None:
    cost = drawn(*shape).to(dtype)
    want = [torch.tensor(linear_sum_assignment(one.T)[1]) for one in cost.numpy()]
    assert torch.equal(match_queries(cost), torch.stack(want))


def test_a_greedy_choice_can_cost_more() -> None:
    cost = torch.tensor([[[2.0, 2.5], [2.2, 9.0], [9.0, 9.5]]])
    assert cost.argmin(1).tolist() == [[0, 0]]
    assert match_queries(cost).tolist() == [[1, 0]]


def test_objects_that_are_not_there_cost_nothing_and_change_nothing() -> None:
    cost = drawn(5, 6, 2)
    padded = torch.cat([cost, torch.zeros(5, 6, 2, dtype=cost.dtype)], -1)
    assert torch.equal(match_queries(padded)[:, :2], match_queries(cost))


@pytest.mark.parametrize(
    ("cost", "kind", "message"),
    [
        (torch.zeros(2, 3, 4), ValueError, "got 3 queries and 4 objects"),
        (torch.zeros(2, 3, 0), ValueError, "got 3 queries and 0 objects"),
        (torch.zeros(2, 9, 1), ValueError, "from 1 to 8 queries"),
    ],
)
def test_bad_input_is_named(cost, kind, message) -> None:
    with pytest.raises(kind, match=message):
        match_queries(cost)


def test_the_first_call_s_device_is_not_kept() -> None:
    with torch.device("meta"):
        assert match_queries(torch.empty(1, 7, 2)).is_meta
    cost = drawn(1, 7, 2)
    (want,) = (linear_sum_assignment(one.T)[1].tolist() for one in cost.numpy())
    assert match_queries(cost).tolist() == [want]
