import math
from functools import partial

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import scaled_dot_product_attention
from course_utils.measure import count_flops, dot_product_variance, largest_tensor


def test_a_matrix_product_costs_two_flops_a_multiply_add() -> None:
    assert count_flops(torch.matmul, torch.ones(3, 5), torch.ones(5, 7)) == 2 * 3 * 5 * 7


@pytest.mark.parametrize(
    ("start", "first", "second"),
    [((3, 7), (3, 5), (5, 7)), ((2, 3, 7), (2, 3, 5), (2, 5, 7)), ((3,), (3, 5), (5,))],
    ids=["addmm_", "baddbmm_", "addmv_"],
)
def test_a_product_costs_the_same_in_place(start, first, second, request) -> None:
    name = request.node.callspec.id
    start, first, second = (torch.ones(shape) for shape in (start, first, second))
    expected = count_flops(torch.matmul, first, second)
    assert count_flops(getattr(start, name), first, second) == expected


def test_attention_costs_four_n_squared_d() -> None:
    x = torch.ones(64, 16)
    assert count_flops(scaled_dot_product_attention, x, x, x) == 4 * 64 * 64 * 16


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": torch.zeros(48, 64)}])
def test_torch_s_attention_costs_what_its_products_do(options) -> None:
    query, key = torch.ones(2, 3, 48, 16), torch.ones(2, 3, 64, 16)
    products = 4 * 2 * 3 * 48 * 64 * 16

    def forward(q, k):
        return F.scaled_dot_product_attention(q, k, k, **options)

    assert count_flops(forward, query, key) == products
    out = forward(query.requires_grad_(), key)
    assert count_flops(out.sum().backward) == 2.5 * products


def test_shared_keys_do_not_make_torch_s_attention_cheaper() -> None:
    query, key = torch.ones(2, 6, 48, 16), torch.ones(2, 3, 64, 16)
    call = partial(F.scaled_dot_product_attention, enable_gqa=True)
    assert count_flops(call, query, key, key) == 4 * 2 * 6 * 48 * 64 * 16


def test_torch_s_attention_holds_no_scores_until_it_is_given_a_mask() -> None:
    x = torch.ones(1, 2, 100, 8)
    assert largest_tensor(F.scaled_dot_product_attention, x, x, x) == 2 * 100 * 8
    mask = torch.ones(100, 100, dtype=torch.bool)
    assert largest_tensor(F.scaled_dot_product_attention, x, x, x, mask) == 100 * 100


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_a_copy_that_a_broadcast_hides_is_counted(mode) -> None:
    query, key = torch.ones(1, 2, 4, 3, 8), torch.ones(1, 2, 1, 500, 8)
    with mode():
        assert largest_tensor(lambda q, k: q @ k.mT, query, key) == 2 * 4 * 500 * 8
        assert count_flops(lambda q, k: q @ k.mT, query, key) == 2 * 2 * 4 * 3 * 500 * 8


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
