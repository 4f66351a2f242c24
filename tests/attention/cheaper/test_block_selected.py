import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    block_selected_attention,
    causal_mask,
    scaled_dot_product_attention,
    select_blocks,
)
from course_utils.exercises.shared.linear import work
from course_utils.measure import count_flops, largest_tensor
from tests.support import assert_same_function, growth, qkv

SHAPES = [(11, 3), (12, 3), (8, 4), (7, 1), (5, 9), (1, 1), (1, 4), (6, 6)]


@pytest.mark.parametrize("top_k", [0, 1, 3])
@pytest.mark.parametrize(("length", "block"), SHAPES)
def test_is_attention_under_the_mask_of_the_selected_blocks(length, block, top_k) -> None:
    given = qkv((2, 3), length, length)

    def masked(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = select_blocks(query, key, block, top_k + 1)
        return scaled_dot_product_attention(query, key, value, mask)

    assert_same_function(lambda *x: block_selected_attention(*x, block, top_k), masked, given)


@pytest.mark.parametrize(("length", "block"), SHAPES)
@pytest.mark.peer(
    "08",
    "`block_selected_attention`",
    "SDPA, causal, where all blocks are chosen",
    "float64 1e-7",
    "outputs, gradients",
)
def test_with_all_blocks_it_is_causal_attention(length, block) -> None:
    given = qkv((2, 3), length, length)
    assert_same_function(
        lambda *x: block_selected_attention(*x, block, -(-length // block)),
        lambda *x: F.scaled_dot_product_attention(*x, attn_mask=causal_mask(length, length)),
        given,
    )


def test_of_no_tokens_nothing_comes() -> None:
    assert block_selected_attention(*qkv((2, 3), 0, 0), 4, 2).shape == (2, 3, 0, 6)


def test_the_choice_has_no_gradient() -> None:
    query, key, value = (x.requires_grad_() for x in qkv((1, 1), 6, 6))
    out = block_selected_attention(query, key, value, 2, 1)
    (slope,) = torch.autograd.grad(out[0, 0, 4].sum(), key)
    best = int((query[0, 0, 4] @ key[0, 0, :4].unflatten(0, (2, 2)).mean(1).mT).argmax())
    assert slope[0, 0].any(-1).tolist() == [at // 2 == best for at in range(4)] + [True, False]


def test_reads_no_more_than_it_selects() -> None:
    given = (*(x.float() for x in qkv((1, 2), 256, 256, 8, 8)), 16, 1)
    assert count_flops(block_selected_attention, *given) <= 2 * 4 * 256 * 8 * (16 + 2 * 2 * 16)
    assert largest_tensor(block_selected_attention, *given) <= 2 * 256 * 2 * 16 * 8


def test_its_work_grows_slower_than_the_square() -> None:
    def make(length: int) -> tuple[object, ...]:
        return (*qkv((1, 1), length, length, 8, 8), math.isqrt(length), 1)

    assert growth(work, block_selected_attention, make) < 1.6


Q, K, V = qkv((2, 3), 5, 5)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"same batch and heads, got \(2, 3\), \(2, 1\) and"):
        block_selected_attention(Q, K[:, :1], V, 2, 1)
    with pytest.raises(TypeError, match="all must have the same dtype"):
        block_selected_attention(Q, K, V.float(), 2, 1)
