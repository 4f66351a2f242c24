import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import residual_attention_backward
from tests.support import draw


def layer(B: int, L: int, d: int, d_k: int) -> tuple[Tensor, ...]:
    shapes = ((B, L, d), (d, d_k), (d, d_k), (d, d), (B, L, d))
    return tuple(draw(*shape, seed=i) for i, shape in enumerate(shapes))


@pytest.mark.parametrize("sizes", [(2, 5, 4, 3), (1, 7, 2, 6), (3, 1, 4, 2), (2, 4, 1, 1)])
@pytest.mark.peer(
    "15", "`residual_attention_backward`", "`torch.autograd` of x + SDPA", "float64 1e-7",
    "gradients",
)  # fmt: skip
def test_agrees_with_autograd(sizes) -> None:
    x, W_q, W_k, W_v, grad_out = layer(*sizes)
    x.requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):
        y = x + F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v)
    (want,) = torch.autograd.grad(y, x, grad_out)
    got = residual_attention_backward(x.detach(), W_q, W_k, W_v, grad_out)
    torch.testing.assert_close(got, want)


def test_agrees_with_a_small_change_of_each_number() -> None:
    x, W_q, W_k, W_v, grad_out = layer(1, 3, 2, 4)

    def loss(x: Tensor) -> float:
        scores = x @ W_q @ (x @ W_k).mT / 2
        return float(((x + torch.softmax(scores, -1) @ x @ W_v) * grad_out).sum())

    got = residual_attention_backward(x, W_q, W_k, W_v, grad_out)
    for place in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[place] = 1e-5
        slope = (loss(x + step) - loss(x - step)) / 2e-5
        assert float(got.flatten()[place]) == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_g_plus_the_transposed_weights_times_g_is_exact_in_one_setting_only() -> None:
    x, W_q, W_k, W_v, g = layer(2, 5, 4, 3)
    nothing, eye = torch.zeros_like(W_q), torch.eye(4, dtype=torch.float64)

    def error(W_q: Tensor, W_k: Tensor, W_v: Tensor) -> float:
        weights = torch.softmax(x @ W_q @ (x @ W_k).mT / 3**0.5, -1)
        whole = residual_attention_backward(x, W_q, W_k, W_v, g)
        return float((g + weights.mT @ g - whole).norm() / whole.norm())

    assert error(nothing, nothing, eye) < 1e-14
    assert min(error(nothing, nothing, W_v), error(W_q, W_k, eye), error(W_q, W_k, W_v)) > 0.1


def test_the_gradient_has_the_shape_of_the_stream() -> None:
    *given, grad_out = layer(2, 5, 4, 3)
    with pytest.raises(ValueError, match=r"grad_out must have the shape \(2, 5, 4\), got"):
        residual_attention_backward(*given, grad_out[:, :4])
