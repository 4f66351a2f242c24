"""Gated cross-attention, and the mask that shows a text its last image."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import cross_attention, gated_cross_attention, last_image_mask

SHAPES = ((2, 4, 3), (2, 5, 6), (3, 7), (6, 7), (6, 8), (8, 3))


def inputs(gate: float = 0.7) -> tuple[Tensor, ...]:
    g = torch.Generator().manual_seed(0)
    tensors = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in SHAPES)
    return (*tensors, torch.tensor(gate, dtype=torch.float64))


def some_mask(*shape: int) -> Tensor:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 1] = True
    return mask


def by_sdpa(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        read = F.scaled_dot_product_attention(
            x @ W_q, context @ W_k, context @ W_v, attn_mask=attn_mask
        )
    return x + gate.tanh() * (read @ W_o)


@pytest.mark.parametrize("gate", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("shape", [None, (4, 5), (2, 4, 5), (2, 1, 5), (1, 5)])
@pytest.mark.peer(
    "14", "`gated_cross_attention`", "x + tanh(gate) · SDPA on projected inputs", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_agrees_with_torch_on_projected_inputs(shape, gate) -> None:
    given = tuple(one.requires_grad_() for one in inputs(gate))
    mask = None if shape is None else some_mask(*shape)
    out, want = gated_cross_attention(*given, mask), by_sdpa(*given, mask)
    torch.testing.assert_close(out, want)
    slope = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(3))
    got = torch.autograd.grad(out, given, slope)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, slope))


def test_a_shut_gate_gives_x_to_the_last_bit_and_still_learns() -> None:
    given = tuple(one.requires_grad_() for one in inputs(0.0))
    out = gated_cross_attention(*given)
    assert torch.equal(out, given[0])
    slopes = torch.autograd.grad(out.square().sum(), given)
    assert float(slopes[-1].abs()) > 0.1  # the gate opens
    assert all(not bool(slope.any()) for slope in slopes[1:-1])  # nothing else moves yet


def test_an_open_gate_adds_cross_attention() -> None:
    x, context, W_q, W_k, W_v, W_o, _ = inputs()
    opened = gated_cross_attention(
        x, context, W_q, W_k, W_v, W_o, torch.tensor(30.0, dtype=torch.float64)
    )
    torch.testing.assert_close(opened, x + cross_attention(x, context, W_q, W_k, W_v) @ W_o)


def test_who_may_read_nothing_stays_as_it_is_with_finite_gradients() -> None:
    given = tuple(one.requires_grad_() for one in inputs())
    mask = some_mask(2, 4, 5)
    mask[0, 1], mask[1] = False, False
    out = gated_cross_attention(*given, mask)
    assert torch.equal(out[0, 1], given[0][0, 1])
    assert torch.equal(out[1], given[0][1])
    slopes = torch.autograd.grad(out.square().sum(), given)
    assert all(bool(slope.isfinite().all()) for slope in slopes)


# The mask


def test_each_position_sees_one_image_or_none() -> None:
    marks = torch.rand(6, 20, generator=torch.Generator().manual_seed(0)) < 0.2
    mask = last_image_mask(marks, 20, 3)
    began = marks.cumsum(1) > 0
    assert torch.equal(mask.sum(-1), 3 * began)
    assert not bool(mask[:, :, 3 * int(marks.sum(1).max()) :].any())


def test_a_bad_mask_is_named() -> None:
    with pytest.raises(ValueError, match="at most 2 marks, got 3"):
        last_image_mask(torch.ones(2, 3).bool(), 2, 1)
