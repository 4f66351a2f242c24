import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    block_sparse_attention,
    fixed_mask,
    scaled_dot_product_attention,
    strided_mask,
)
from course_utils.measure import count_flops
from tests.support import assert_same_function, qkv


def table(length: int, rule) -> Tensor:
    rows = [[j <= i and rule(i, j) for j in range(length)] for i in range(length)]
    return torch.tensor(rows, dtype=torch.bool).reshape(length, length)


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("length", [0, 1, 2, 13])
def test_a_strided_query_sees_the_last_keys_and_each_stride_th(length, stride) -> None:
    want = table(length, lambda i, j: i - j < stride or (i - j) % stride == 0)
    assert torch.equal(strided_mask(length, stride), want)


@pytest.mark.parametrize(("block", "summary"), [(1, 0), (1, 1), (4, 1), (4, 3), (5, 0), (20, 2)])
@pytest.mark.parametrize("length", [0, 1, 2, 13])
def test_a_fixed_query_sees_its_block_and_every_summary(length, block, summary) -> None:
    want = table(length, lambda i, j: i // block == j // block or j % block >= block - summary)
    assert torch.equal(fixed_mask(length, block, summary), want)


def test_two_steps_reach_every_key_of_the_past() -> None:
    causal = torch.ones(64, 64).tril().bool()
    for mask in (strided_mask(64, 8), fixed_mask(64, 8, 1)):
        reached = (mask.float() @ mask.float()) > 0
        assert torch.equal(reached, causal)
        assert mask.sum() < causal.sum() / 2


def random_mask(num_queries: int, num_keys: int, share: float) -> Tensor:
    mask = torch.rand(num_queries, num_keys, generator=torch.Generator().manual_seed(1)) < share
    mask[0] = False
    return mask


@pytest.mark.parametrize("block", [1, 3, 8, 50])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("lengths", [(8, 8), (20, 13), (13, 20), (1, 9), (9, 1), (1, 1)])
def test_skipping_blocks_changes_neither_outputs_nor_gradients(lengths, share, block) -> None:
    mask = random_mask(*lengths, share)
    assert_same_function(
        lambda *x: block_sparse_attention(*x, mask, block),
        lambda *x: scaled_dot_product_attention(*x, mask),
        qkv((2, 3), *lengths),
    )


@pytest.mark.parametrize("leading", [(), (2,), (2, 1, 3)])
def test_any_leading_axes_and_a_mask_for_all_queries(leading) -> None:
    given, mask = qkv(leading, 20, 13), random_mask(2, 13, 0.5)[1:]
    want = scaled_dot_product_attention(*given, mask)
    torch.testing.assert_close(block_sparse_attention(*given, mask, 4), want)


def test_flops_are_those_of_the_blocks_that_hold_anything() -> None:
    mask = fixed_mask(256, 32, 8)
    x = torch.ones(1, 1, 256, 16)
    blocks = int(mask.view(32, 8, 32, 8).any(3).any(1).sum())
    flops = count_flops(block_sparse_attention, x, x, x, mask, 8)
    assert flops == blocks * 4 * 8 * 8 * 16
    assert flops < 0.25 * 4 * 256**2 * 16


def test_entries_spread_over_all_blocks_save_only_the_future() -> None:
    mask, x = strided_mask(256, 16), torch.ones(1, 1, 256, 16)
    flops = count_flops(block_sparse_attention, x, x, x, mask, 16)
    assert flops == 16 * 17 / 2 * 4 * 16 * 16 * 16


def test_blocks_as_long_as_the_square_root_cost_length_to_one_and_a_half() -> None:
    counts = []
    for n in (256, 1024):
        x, mask = torch.ones(1, 1, n, 4), fixed_mask(n, math.isqrt(n), 4)
        counts.append(count_flops(block_sparse_attention, x, x, x, mask, 4))
    assert math.log(counts[1] / counts[0]) / math.log(4) == pytest.approx(1.5, abs=0.02)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="summary must be at most block = 2, got 3"):
        fixed_mask(4, 2, 3)
