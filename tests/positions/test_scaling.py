import pytest
import torch

from course_utils.positions import interpolate_positions, ntk_base, rope_frequencies


def test_longer_targets_are_pressed_into_the_trained_range() -> None:
    pressed = interpolate_positions(torch.arange(8), 4, 8)
    torch.testing.assert_close(pressed, torch.arange(8) / 2)
    assert pressed.max() < 4


@pytest.mark.parametrize("target", [4, 3])
def test_other_targets_leave_positions_alone(target) -> None:
    given = torch.tensor([0.0, 1.5, 7.0], dtype=torch.float64)
    torch.testing.assert_close(interpolate_positions(given, 4, target), given, rtol=0, atol=0)


def test_shape_and_real_dtype_stay_and_whole_numbers_become_real() -> None:
    assert interpolate_positions(torch.zeros(2, 0, 3).half(), 4, 9).dtype == torch.float16
    for dtype in (torch.int64, torch.int32):
        whole = interpolate_positions(torch.tensor([[3]], dtype=dtype), 4, 6)
        assert whole.tolist() == [[2.0]]
        assert whole.dtype == torch.float32
    assert interpolate_positions(torch.tensor(3), 4, 2).dtype == torch.float32


def test_the_result_is_never_the_input_itself() -> None:
    given = torch.tensor([1.0, 2.0])
    interpolate_positions(given, 4, 4).zero_()
    assert given.tolist() == [1.0, 2.0]


def test_gradients_flow_through_real_positions() -> None:
    given = torch.tensor([1.0, 5.0], requires_grad=True)
    (grad,) = torch.autograd.grad(interpolate_positions(given, 4, 16).sum(), given)
    assert grad.tolist() == [0.25, 0.25]


@pytest.mark.parametrize(("d_k", "factor"), [(4, 2.0), (64, 8.0), (128, 1.0)])
def test_the_new_base_slows_the_last_pair_by_the_factor_and_the_first_not_at_all(
    d_k, factor
) -> None:
    slowed = rope_frequencies(d_k) / rope_frequencies(d_k, ntk_base(10000.0, d_k, factor))
    assert slowed[0].item() == 1.0
    assert slowed[-1].item() == pytest.approx(factor)
    assert bool((slowed.diff() >= 0).all())
