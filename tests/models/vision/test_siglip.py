"""The sigmoid loss against torch's binary cross-entropy."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.models import siglip_loss
from tests.support import assert_same_function, draw


def by_binary_cross_entropy(a: Tensor, b: Tensor, log_scale: Tensor, bias: Tensor) -> Tensor:
    logits = log_scale.exp() * F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT + bias
    partners = torch.eye(len(a), dtype=a.dtype)
    return F.binary_cross_entropy_with_logits(logits, partners, reduction="sum") / len(a)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (10.0, -10.0), (1e4, 3.0)])
@pytest.mark.parametrize(("batch", "width"), [(1, 3), (2, 5), (6, 4)])
@pytest.mark.peer(
    "14", "`siglip_loss`", "`F.binary_cross_entropy_with_logits` of all pairs, summed, over N",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_agrees_with_torch_s_binary_cross_entropy(batch, width, scale, offset) -> None:
    numbers = (torch.tensor(x, dtype=torch.float64) for x in (math.log(scale), offset))
    given = (draw(batch, width), draw(batch, width, seed=1), *numbers)
    assert_same_function(siglip_loss, by_binary_cross_entropy, given)


def test_chunks_of_texts_sum_to_the_loss_of_the_whole_batch() -> None:
    a, b = F.normalize(draw(6, 4), dim=-1), F.normalize(draw(6, 4, seed=1), dim=-1)
    scale, bias = torch.tensor(1.2).double(), torch.tensor(-3.0).double()
    labels = 2 * torch.eye(6) - 1
    parts = [
        -F.logsigmoid(labels[:, at : at + 2] * (scale.exp() * a @ b[at : at + 2].mT + bias)).sum()
        for at in (0, 2, 4)
    ]
    torch.testing.assert_close(torch.stack(parts).sum() / 6, siglip_loss(a, b, scale, bias))


def test_zeros_stay_zeros() -> None:
    zeros, number = torch.zeros(3, 2, requires_grad=True), torch.tensor(0.0)
    loss = siglip_loss(zeros, zeros, number, number)
    assert loss.item() == pytest.approx(3 * math.log(2))
    assert torch.autograd.grad(loss, zeros)[0].isfinite().all()


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="at least one pair, got none"):
        siglip_loss(torch.ones(0, 3), torch.ones(0, 3), torch.tensor(0.0), torch.tensor(0.0))
