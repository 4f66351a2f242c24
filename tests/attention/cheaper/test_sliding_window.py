import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    blocked_window_attention,
    global_window_attention,
    scaled_dot_product_attention,
    sliding_window_attention,
    window_mask,
)
from course_utils.measure import count_flops, largest_tensor
from tests.support import assert_same_function, growth, qkv

WINDOWS = [1, 2, 7, 64, 65, 100, 500]
LENGTHS = [1, 2, 5, 63, 64, 65, 129, 200]
CAUSAL = (sliding_window_attention, blocked_window_attention)


@pytest.mark.parametrize("attend", CAUSAL)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("length", LENGTHS)
def test_is_attention_under_the_window_s_mask(attend, length, window) -> None:
    mask = window_mask(length, length, window)
    assert_same_function(
        lambda *x: attend(*x, window),
        lambda *x: scaled_dot_product_attention(*x, mask),
        qkv((2, 3), length, length),
    )


def longformer_mask(length: int, half_width: int, num_global: int) -> Tensor:
    place = torch.arange(length)
    own = place.unsqueeze(-1)
    return ((own - place).abs() <= half_width) | (own < num_global) | (place < num_global)


@pytest.mark.thorough
@pytest.mark.parametrize("half_width", [0, 1, 5, 64, 300])
@pytest.mark.parametrize("num_global", [0, 1, 3, 70, 400])
@pytest.mark.parametrize("length", [1, 2, 64, 65, 67, 200])
def test_global_tokens_see_all_and_are_seen_by_all(length, half_width, num_global) -> None:
    mask = longformer_mask(length, half_width, num_global)
    assert_same_function(
        lambda *x: global_window_attention(*x, half_width, num_global),
        lambda *x: scaled_dot_product_attention(*x, mask),
        qkv((2, 3), length, length),
    )


def test_the_window_holds_2_w_plus_1_keys_and_a_global_row_all() -> None:
    seen = longformer_mask(20, 3, 2).sum(-1)
    assert (seen[0], seen[10]) == (20, 9)


@pytest.mark.parametrize("window", [32, 128])
def test_flops_are_those_of_the_band_and_not_of_the_square(window) -> None:
    given = (x.float() for x in qkv((1, 1), 4096, 4096, 8, 8))
    flops = count_flops(sliding_window_attention, *given, window)
    visible = 4 * 8 * 4096 * window
    assert visible < flops < (64 + window) / window * visible
    assert flops < 0.1 * 4 * 8 * 4096**2


@pytest.mark.thorough
def test_a_mask_on_dense_scores_saves_nothing() -> None:
    """A published text claims length · window for this; its products and scores are all there."""

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, window_mask(len(q), len(q), 32))

    for count in (count_flops, largest_tensor):
        assert growth(count, masked, lambda n: (torch.zeros(n, 2),) * 3) == pytest.approx(2)
