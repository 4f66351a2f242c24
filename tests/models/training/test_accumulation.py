"""The gradient in parts beside that of the whole batch."""

import pytest
import torch
from torch import Tensor, nn

from course_utils.models import accumulated_gradient


def batch(*sizes: int) -> tuple[nn.Linear, list[tuple[Tensor, Tensor]]]:
    g = torch.Generator().manual_seed(sum(sizes))
    model = nn.Linear(5, 3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g))
    micros = [
        (torch.randn(n, 5, generator=g).double(), torch.randint(3, (n,), generator=g))
        for n in sizes
    ]
    return model, micros


def summed(model: nn.Module, micro: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    x, y = micro
    return nn.functional.cross_entropy(model(x), y, reduction="sum"), len(y)


@pytest.mark.parametrize("sizes", [(37, 19, 24, 23), (4,), (1, 9), (3, 0, 5)])
def test_it_equals_the_big_batch(sizes) -> None:
    model, micros = batch(*sizes)
    parts = accumulated_gradient(
        lambda micro: summed(model, micro), list(model.parameters()), micros
    )
    x, y = (torch.cat(column) for column in zip(*micros, strict=True))
    whole = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), list(model.parameters()))
    for part, want in zip(parts, whole, strict=True):
        torch.testing.assert_close(part, want, rtol=1e-13, atol=1e-15)
        assert not part.requires_grad


def test_the_grad_of_parameters_is_left_alone() -> None:
    model, micros = batch(2, 3)
    model.weight.grad = mark = torch.ones_like(model.weight)
    accumulated_gradient(lambda micro: summed(model, micro), list(model.parameters()), micros)
    assert model.weight.grad is mark
    assert torch.equal(mark, torch.ones_like(mark))
    assert model.bias.grad is None


def test_what_has_no_part_and_what_has_no_tokens_is_zero() -> None:
    model, micros = batch(2, 3)
    idle = torch.ones(4, requires_grad=True)
    *_, last = accumulated_gradient(lambda m: summed(model, m), [model.weight, idle], micros)
    assert torch.equal(last, torch.zeros(4))
    for none in ([], batch(0, 0)[1]):
        (zero,) = accumulated_gradient(lambda m: summed(model, m), [model.weight], none)
        assert torch.equal(zero, torch.zeros_like(model.weight))


@pytest.mark.parametrize(
    ("loss", "parameter", "error", "message"),
    [
        (None, torch.ones(1), TypeError, "loss must be callable"),
        (abs, torch.ones(1), ValueError, "each parameter must require a gradient"),
        (abs, torch.ones(1).long(), TypeError, "floating dtype"),
        (lambda _: (torch.ones(1), -1), torch.ones(1).requires_grad_(), ValueError, "at least 0"),
    ],
)
def test_what_does_not_fit_is_named(loss, parameter, error, message) -> None:
    with pytest.raises(error, match=message):
        accumulated_gradient(loss, [parameter], [None])
