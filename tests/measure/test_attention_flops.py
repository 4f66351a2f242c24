"""The FLOPs of attention and of additive scores: counted one by one, and by torch."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_utils.attention import additive_score, scaled_dot_product_attention
from course_utils.measure import additive_flops, attention_flops, count_flops

TORCH_COUNTER = pytest.mark.peer(
    "04", "`attention_flops`, `count_flops`, `additive_flops`", "`torch.utils.flop_counter`",
    "equal", "counts",
)  # fmt: skip


def torch_counts(function, *given) -> int:
    with FlopCounterMode(display=False) as counter:
        function(*given)
    return counter.get_total_flops()


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 4, 6), (3, 1, 8, 2, 5, 4)])
@TORCH_COUNTER
def test_attention_costs_what_torch_s_counter_says(sizes) -> None:
    batch, heads, num_queries, num_keys, d_k, d_v = sizes
    shapes = ((num_queries, d_k), (num_keys, d_k), (num_keys, d_v))
    given = [torch.zeros(batch, heads, *shape) for shape in shapes]
    counted = torch_counts(scaled_dot_product_attention, *given)
    assert attention_flops(*sizes) == counted
    assert count_flops(scaled_dot_product_attention, *given) == counted


def test_for_one_pair_precomputing_saves_nothing() -> None:
    sizes = (1, 1, 7, 5, 3)
    assert additive_flops(*sizes, True) == additive_flops(*sizes, False)


@pytest.mark.parametrize("sizes", [(5, 7, 3, 4, 6), (1, 4, 2, 2, 2)])
@TORCH_COUNTER
def test_the_projections_of_additive_scores_cost_what_torch_s_counter_says(sizes) -> None:
    """Torch counts matrix products alone: sums, tanh and the product with v are the 4 each."""
    num_queries, num_keys, d_q, d_k, d_a = sizes
    shapes = ((num_queries, d_q), (num_keys, d_k), (d_q, d_a), (d_k, d_a), (d_a,))
    given = [torch.zeros(shape) for shape in shapes]
    pairs = 4 * num_queries * num_keys * d_a
    assert additive_flops(*sizes, True) - pairs == torch_counts(additive_score, *given)
