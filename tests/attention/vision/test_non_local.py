"""The non-local block against convolutions and SDPA."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import non_local_block


def inputs(*shape: int, d: int, d_g: int) -> tuple[Tensor, ...]:
    channels = shape[1]
    g = torch.Generator().manual_seed(sum(shape) + d)
    shapes = (shape, (channels, d), (channels, d), (channels, d_g), (d_g, channels))
    return tuple(torch.randn(one, generator=g, dtype=torch.float64) for one in shapes)


def by_convolutions(x, W_theta, W_phi, W_g, W_out) -> Tensor:
    def conv(x: Tensor, W: Tensor) -> Tensor:
        return F.conv2d(x, W.mT[..., None, None])

    theta, phi, g = (conv(x, W).flatten(2).mT for W in (W_theta, W_phi, W_g))
    with sdpa_kernel(SDPBackend.MATH):
        y = F.scaled_dot_product_attention(theta, phi, g, scale=1.0)
    return x + conv(y.mT.unflatten(2, x.shape[2:]), W_out)


@pytest.mark.parametrize(
    ("shape", "d", "d_g"),
    [((2, 3, 4, 5), 6, 7), ((1, 4, 3, 2), 1, 5), ((3, 2, 1, 1), 4, 3), ((2, 1, 2, 3), 2, 4)],
)
@pytest.mark.peer(
    "14", "`non_local_block`", "`F.conv2d` with 1×1 kernels around SDPA with scale=1",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_agrees_with_one_by_one_convolutions(shape, d, d_g) -> None:
    given = tuple(one.requires_grad_() for one in inputs(*shape, d=d, d_g=d_g))
    out, want = non_local_block(*given), by_convolutions(*given)
    torch.testing.assert_close(out, want)
    slope = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    got = torch.autograd.grad(out, given, slope)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, slope))


def test_zeros_at_the_end_change_nothing_and_places_can_be_shuffled() -> None:
    x, *matrices, W_out = inputs(2, 3, 2, 4, d=5, d_g=2)
    assert torch.equal(non_local_block(x, *matrices, 0 * W_out), x)
    order = torch.tensor([5, 2, 0, 7, 1, 3, 6, 4])
    shuffled = x.flatten(2)[..., order].view_as(x)
    want = non_local_block(x, *matrices, W_out).flatten(2)[..., order].view_as(x)
    torch.testing.assert_close(non_local_block(shuffled, *matrices, W_out), want)
