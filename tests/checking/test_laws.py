import torch

from course_utils.checking.laws import is_other, monotone


def test_a_rising_function_is_monotone_and_others_are_not() -> None:
    given = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    assert monotone(given, given.exp())
    assert monotone(given, given.relu())
    assert not monotone(given, -given)
    assert not monotone(given, given.square())
    assert not monotone(given, torch.ones(3, 4))
    assert not monotone(given, given[0])
    assert not monotone(given, given / 0.0)
    assert not monotone(given[0, :2], given[0, :2])


def test_rounding_and_a_single_slip_are_no_other_result() -> None:
    right = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).double()
    slip = right.clone()
    slip[0, 0] += 5.0
    assert is_other(2 * right, right)
    assert not is_other(right.float().double(), right)
    assert not is_other(2 * right.float(), right)
    assert not is_other(slip, right)
