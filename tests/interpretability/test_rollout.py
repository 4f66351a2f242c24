import pytest
import torch
from torch import Tensor

from course_utils.interpretability import attention_rollout


def layers(number: int, *shape: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(number)
    drawn = torch.randn(number, *shape, shape[-1], generator=generator, dtype=torch.float64)
    return list(drawn.softmax(-1))


@pytest.mark.parametrize("residual", [0.0, 0.3, 0.5, 1.0])
def test_it_is_what_a_stack_of_averages_does_to_one_hot_tokens(residual: float) -> None:
    given = layers(6, 2, 3, 5)
    stream = torch.eye(5, dtype=torch.float64)
    for weights in given:
        stream = residual * stream + (1 - residual) * (weights @ stream[..., None, :, :]).mean(1)
    torch.testing.assert_close(attention_rollout(given, residual), stream.expand(2, 5, 5))


def test_rows_are_divided_by_their_sums_and_empty_ones_stay_empty() -> None:
    given = [0.4 * one for one in layers(3, 2, 2, 4)]
    torch.testing.assert_close(attention_rollout(given).sum(-1), torch.ones(2, 4).double())
    given[1][:, :, 2] = 0.0
    rolled = attention_rollout(given[:2], 0.0)
    assert not rolled[:, 2].any()
    torch.testing.assert_close(rolled.sum(-1)[:, [0, 1, 3]], torch.ones(2, 3).double())


def test_gradients_are_right() -> None:
    given = tuple(one.requires_grad_() for one in layers(2, 1, 2, 3))
    assert torch.autograd.gradcheck(lambda *both: attention_rollout(both, 0.4), given)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="layers must hold at least one layer, got none"):
        attention_rollout([])
    with pytest.raises(TypeError, match="layers must be a list of tensors, got Tensor"):
        attention_rollout(torch.stack(layers(2, 1, 2, 3)))
    with pytest.raises(ValueError, match=r"layers\[1\] must have the shape \(2, 3, 4, 4\), got"):
        attention_rollout([*layers(1, 2, 3, 4), *layers(1, 2, 1, 4)])
    with pytest.raises(ValueError, match=r"residual must be from 0 to 1, got 1\.5"):
        attention_rollout(layers(1, 2, 3, 4), 1.5)
