import math

import pytest
import torch

from course_utils.attention import scaled_dot_product_attention
from course_utils.measure import count_flops, dot_product_variance, largest_tensor


def test_a_matrix_product_costs_two_flops_a_multiply_add() -> None:
    assert count_flops(torch.matmul, torch.ones(3, 5), torch.ones(5, 7)) == 2 * 3 * 5 * 7


def test_attention_costs_four_n_squared_d() -> None:
    x = torch.ones(64, 16)
    assert count_flops(scaled_dot_product_attention, x, x, x) == 4 * 64 * 64 * 16


def test_the_largest_tensor_of_attention_is_its_score_table() -> None:
    x = torch.ones(100, 8)
    assert largest_tensor(scaled_dot_product_attention, x, x, x) == 100 * 100


def test_views_and_inputs_cost_nothing() -> None:
    x = torch.ones(50, 40)
    assert largest_tensor(lambda t: t.mT[:7].expand(3, 7, 50), x) == 0
    assert largest_tensor(lambda t: t.mT[:7] + 1, x) == 7 * 50


def test_an_expanded_tensor_costs_once_it_is_copied() -> None:
    x = torch.ones(4, 1)
    assert largest_tensor(lambda t: t.expand(4, 9).contiguous(), x) == 36


def test_variance_lies_within_its_own_error() -> None:
    for d_k in (1, 7, 64):
        found = dot_product_variance(d_k, 20_000, torch.Generator().manual_seed(1))
        assert abs(found / d_k - 1) < 5 * math.sqrt((2 + 6 / d_k) / 20_000)


@pytest.mark.parametrize(
    ("d_k", "samples", "message"), [(0, 5, "d_k must be at least 1, got 0"), (4, 1, "got 1")]
)
def test_impossible_samples_are_refused(d_k, samples, message) -> None:
    with pytest.raises(ValueError, match=message):
        dot_product_variance(d_k, samples, torch.Generator())
