"""A model under autocast multiplies in bfloat16, keeps its weights, and reads them anew."""

import torch
from torch import Tensor, nn

from course_utils.models import Autocast


class Product(nn.Linear):
    """Remembers the dtype of what it gave."""

    def forward(self, x: Tensor) -> Tensor:
        out = super().forward(x)
        self.given = out.dtype
        return out


def test_products_are_in_16_bits_and_the_rest_is_not() -> None:
    inner = Product(4, 3)
    model = Autocast(inner)
    out = model(torch.ones(2, 4))
    assert (inner.given, out.dtype, inner.weight.dtype) == (
        torch.bfloat16, torch.float32, torch.float32,
    )  # fmt: skip
    out.sum().backward()
    assert inner.weight.grad is not None
    assert inner.weight.grad.dtype == torch.float32


def test_weights_that_changed_are_read_again() -> None:
    model = Autocast(nn.Linear(4, 3))
    before = model(torch.ones(2, 4))
    with torch.no_grad():
        model.model.weight.add_(1)
    torch.testing.assert_close(model(torch.ones(2, 4)), before + 4, rtol=0.02, atol=0.02)
