import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import (
    attention_backward,
    attention_weights,
    scaled_dot_product_attention,
    softmax_jacobian,
    stable_softmax,
)
from tests.support import LEADING, LENGTHS, assert_same_function, draw, qkv

SDPA = pytest.mark.peer(
    "03",
    "`scaled_dot_product_attention`, `attention_weights`",
    "SDPA: masks, empty rows, leading axes, scales",
    "float64 1e-7",
    "outputs, gradients",
)


def torch_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@SDPA
def test_agrees_with_torch_without_a_mask(leading, num_queries, num_keys) -> None:
    given = qkv(leading, num_queries, num_keys)
    assert_same_function(
        scaled_dot_product_attention, lambda q, k, v: torch_attention(q, k, v, None, None), given
    )


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@SDPA
def test_agrees_with_torch_under_masks_with_empty_rows(leading, num_queries, num_keys) -> None:
    given = qkv(leading, num_queries, num_keys)
    mask = draw(*leading, num_queries, num_keys, seed=5) > 0
    mask[..., 0, :] = False
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: torch_attention(q, k, v, mask, None),
        given,
    )


@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (7,), (2, 1, 1, 7), (3, 5, 7), (2, 3, 5, 1)])
@SDPA
def test_masks_broadcast_as_torch_s_do(shape) -> None:
    given = qkv((2, 3), 5, 7)
    mask = draw(*shape, seed=3) > -0.5
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: torch_attention(q, k, v, mask.expand(2, 3, 5, 7), None),
        given,
    )


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, -2.0])
@SDPA
def test_scale_multiplies_as_torch_s_does(scale) -> None:
    given = qkv((2,), 3, 5)
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, scale=scale),
        lambda q, k, v: torch_attention(q, k, v, None, scale),
        given,
    )


def test_the_output_is_the_weights_times_the_values() -> None:
    q, k, v = qkv((2, 3), 4, 7)
    torch.testing.assert_close(attention_weights(q, k) @ v, scaled_dot_product_attention(q, k, v))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_is_as_exact_as_torch_s_own(dtype) -> None:
    given = qkv((2, 3), 33, 65)
    exact = scaled_dot_product_attention(*given)
    low = [x.to(dtype) for x in given]
    ours = (scaled_dot_product_attention(*low).double() - exact).abs().max()
    theirs = (torch_attention(*low, None, None).double() - exact).abs().max()
    assert scaled_dot_product_attention(*low).dtype == dtype
    assert ours <= 2 * theirs


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer("03", "`attention_backward`", "SDPA's autograd", "float64 1e-7", "gradients")
def test_backward_equals_autograd(leading, num_queries, num_keys) -> None:
    given = tuple(x.requires_grad_() for x in qkv(leading, num_queries, num_keys))
    out = scaled_dot_product_attention(*given)
    grad_out = draw(*out.shape, seed=8)
    want = torch.autograd.grad(out, given, grad_out)
    torch.testing.assert_close(attention_backward(*given, grad_out), want)


@pytest.mark.peer("03", "`stable_softmax`", "`torch.softmax`", "float64 1e-7", "weights")
def test_softmax_agrees_with_torch_and_survives_the_extremes() -> None:
    scores = draw(4, 3, 5)
    torch.testing.assert_close(stable_softmax(scores), scores.softmax(-1))
    large = 1e4 * scores
    torch.testing.assert_close(stable_softmax(large), large.softmax(-1))


def test_softmax_of_an_empty_row_is_zero_with_zero_gradient() -> None:
    scores = draw(2, 4)
    scores[1] = -torch.inf
    scores.requires_grad_()
    weights = stable_softmax(scores)
    assert not weights[1].any()
    (grad,) = torch.autograd.grad(weights, scores, draw(2, 4, seed=2))
    assert grad.isfinite().all()
    assert not grad[1].any()


def test_softmax_of_nothing_is_nothing() -> None:
    assert stable_softmax(torch.zeros(2, 0)).shape == (2, 0)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.peer(
    "03",
    "`softmax_jacobian`",
    "`torch.autograd.functional.jacobian`",
    "float64 1e-7",
    "the Jacobian, from gradients",
)
def test_jacobian_equals_autograd(leading) -> None:
    scores = draw(*leading, 5)
    jacobian = softmax_jacobian(scores.softmax(-1))
    flat = scores.reshape(-1, 5)
    want = [torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row) for row in flat]
    torch.testing.assert_close(jacobian.reshape(-1, 5, 5), torch.stack(want))


Q, K, V = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4), torch.zeros(2, 5, 6)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: attention_backward(Q, K[:1], V[:1], torch.zeros(2, 3, 6)),
            ValueError,
            "the same leading axes",
        ),
        (lambda: stable_softmax(torch.tensor(1.0)), ValueError, "at least one axis, got a scalar"),
        (lambda: softmax_jacobian(torch.tensor(1.0)), ValueError, "at least one axis"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
