import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import soft_lookup
from tests.support import LENGTHS, assert_same_function, draw, qkv


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 5.0])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer("04", "`soft_lookup`", "SDPA with a scale", "float64 1e-7", "outputs, gradients")
def test_agrees_with_torch_s_scale_outputs_and_gradients(
    num_queries, num_keys, temperature, leading
) -> None:
    def theirs(*given: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(*given, scale=1 / temperature)

    given = qkv(leading, num_queries, num_keys)
    assert_same_function(lambda *x: soft_lookup(*x, temperature), theirs, given)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_a_low_temperature_returns_the_best_value_with_finite_gradients(scale) -> None:
    query = torch.eye(4, dtype=torch.float64)[:3].requires_grad_()
    key = (scale * torch.eye(4, dtype=torch.float64)).requires_grad_()
    value = draw(4, 6).requires_grad_()
    out = soft_lookup(query, key, value, 0.01)
    torch.testing.assert_close(out, value[:3])
    grads = torch.autograd.grad(out, (query, key, value), draw(3, 6, seed=2))
    assert all(grad.isfinite().all() for grad in grads)


def test_a_high_temperature_returns_the_mean_of_the_values() -> None:
    query, key, value = qkv((), 3, 5)
    mean = value.mean(dim=0).expand(3, -1)
    torch.testing.assert_close(soft_lookup(query, key, value, 1e9), mean)
    torch.testing.assert_close(soft_lookup(query, key, value, math.inf), mean)


def test_two_equal_keys_share_however_low_the_temperature() -> None:
    query, key, value = torch.ones(1, 2), torch.ones(2, 2), torch.tensor([[1.0], [3.0]])
    assert soft_lookup(query, key, value, 0.01).item() == 2.0


Q, K, V = torch.zeros(3, 4), torch.zeros(5, 4), torch.zeros(5, 6)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: soft_lookup(Q, K, V, 0.0), ValueError, "temperature must be above 0, got 0.0"),
        (lambda: soft_lookup(Q, K, V, -1), ValueError, "temperature must be above 0, got -1"),
        (lambda: soft_lookup(Q, K, V, math.nan), ValueError, "above 0, got nan"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
