"""The contrastive loss against torch's cross-entropy."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.models import contrastive_loss


def pairs(batch: int, width: int) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(batch)
    a, b = torch.randn(2, batch, width, generator=g, dtype=torch.float64)
    return a.requires_grad_(), b.requires_grad_()


def by_cross_entropy(a: Tensor, b: Tensor, temperature: Tensor) -> Tensor:
    logits = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT / temperature
    partners = torch.arange(len(a))
    return (F.cross_entropy(logits, partners) + F.cross_entropy(logits.mT, partners)) / 2


@pytest.mark.parametrize("temperature", [0.01, 0.3, 2.0])
@pytest.mark.parametrize(("batch", "width"), [(1, 3), (2, 5), (6, 4), (5, 1)])
@pytest.mark.peer(
    "14", "`contrastive_loss`", "`F.cross_entropy` of `F.normalize`d rows, both ways",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_agrees_with_torch_s_cross_entropy(batch, width, temperature) -> None:
    given = (*pairs(batch, width), torch.tensor(temperature, dtype=torch.float64).requires_grad_())
    out, want = contrastive_loss(*given), by_cross_entropy(*given)
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(torch.autograd.grad(out, given), torch.autograd.grad(want, given))
    torch.testing.assert_close(contrastive_loss(*given[:2], temperature), want)


def test_a_single_pair_and_zeros() -> None:
    a, b = pairs(1, 4)
    assert contrastive_loss(a, b, 0.1).item() == 0.0
    a, b = (one.detach().clone() for one in pairs(4, 3))
    a[1] = 0.0
    a.requires_grad_()
    loss = contrastive_loss(a, b, 0.2)
    assert torch.autograd.grad(loss, a)[0].isfinite().all()
    zeros = torch.zeros(3, 2)
    assert float(contrastive_loss(zeros, zeros, 1.0)) == pytest.approx(math.log(3))


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="at least one pair, got none"):
        contrastive_loss(torch.ones(0, 3), torch.ones(0, 3), 1.0)
