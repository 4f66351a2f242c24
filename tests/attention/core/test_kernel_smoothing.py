import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import nadaraya_watson
from tests.support import LENGTHS, assert_same_function, qkv


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("bandwidth", [0.6, 1, 3.0])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer(
    "15", "`nadaraya_watson`", "SDPA with the keys' norms as a bias", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_is_torch_s_attention_with_the_keys_norms_as_a_bias(
    num_queries, num_keys, bandwidth, leading
) -> None:
    def theirs(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        bias = -key.square().sum(-1).unsqueeze(-2) / (2 * bandwidth**2)
        mask = bias.expand(*leading, num_queries, num_keys)
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, scale=1 / bandwidth**2
            )

    given = qkv(leading, num_queries, num_keys)
    assert_same_function(lambda *x: nadaraya_watson(*x, bandwidth), theirs, given)


def test_needs_no_bias_only_where_all_keys_have_one_norm() -> None:
    query, key, value = qkv((), 3, 5)
    alike = F.normalize(key, dim=-1)
    without = F.scaled_dot_product_attention(query, alike, value, scale=1 / 0.49)
    torch.testing.assert_close(nadaraya_watson(query, alike, value, 0.7), without)
    without = F.scaled_dot_product_attention(query, key, value, scale=1 / 0.49)
    assert (nadaraya_watson(query, key, value, 0.7) - without).abs().max() > 0.1


def test_far_from_every_key_it_is_still_an_average() -> None:
    query, key, value = qkv((), 3, 5)
    far = (query + 1000.0).requires_grad_()
    out = nadaraya_watson(far, key, value, 1.0)
    assert (out <= value.amax(0)).all()
    assert (out >= value.amin(0)).all()
    (grad,) = torch.autograd.grad(out.sum(), far)
    assert grad.isfinite().all()


def test_moving_all_points_alike_changes_nothing_even_far_from_zero() -> None:
    query, key, value = qkv((), 3, 5)
    moved = nadaraya_watson(query + 2.0**20, key + 2.0**20, value, 0.5)
    torch.testing.assert_close(moved, nadaraya_watson(query, key, value, 0.5), rtol=1e-6, atol=1e-6)
