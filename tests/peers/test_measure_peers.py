"""What is counted and fitted beside torch's counter, torch's modules and numpy's fit."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_utils.attention import additive_score, scaled_dot_product_attention
from course_utils.measure import (
    additive_flops,
    attention_flops,
    count_flops,
    fit_exponent,
    fit_power_law,
    mha_parameters,
    qkv_parameters,
)

SIZES = [(1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 4, 6), (3, 1, 8, 2, 5, 4)]


def torch_counts(function, *given) -> int:
    with FlopCounterMode(display=False) as counter:
        function(*given)
    return counter.get_total_flops()


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.peer(
    "04", "`attention_flops`, `count_flops`, `additive_flops`", "`torch.utils.flop_counter`",
    "equal", "counts",
)  # fmt: skip
def test_attention_costs_what_torch_s_counter_says(sizes) -> None:
    batch, heads, num_queries, num_keys, d_k, d_v = sizes
    shapes = ((num_queries, d_k), (num_keys, d_k), (num_keys, d_v))
    given = [torch.zeros(batch, heads, *shape) for shape in shapes]
    counted = torch_counts(scaled_dot_product_attention, *given)
    assert attention_flops(*sizes) == counted
    assert count_flops(scaled_dot_product_attention, *given) == counted


@pytest.mark.parametrize("sizes", [(5, 7, 3, 4, 6), (1, 4, 2, 2, 2)])
@pytest.mark.peer(
    "04", "`attention_flops`, `count_flops`, `additive_flops`", "`torch.utils.flop_counter`",
    "equal", "counts",
)  # fmt: skip
def test_the_projections_of_additive_scores_cost_what_torch_s_counter_says(sizes) -> None:
    """Torch counts matrix products alone: sums, tanh and the product with v are the 4 each."""
    num_queries, num_keys, d_q, d_k, d_a = sizes
    shapes = ((num_queries, d_q), (num_keys, d_k), (d_q, d_a), (d_k, d_a), (d_a,))
    given = [torch.zeros(shape) for shape in shapes]
    pairs = 4 * num_queries * num_keys * d_a
    assert additive_flops(*sizes, True) - pairs == torch_counts(additive_score, *given)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.peer(
    "04", "`qkv_parameters`, `mha_parameters`", "`nn.MultiheadAttention`", "equal", "counts"
)
def test_parameters_are_those_of_torch_s_modules(heads, bias) -> None:
    whole = nn.MultiheadAttention(12, heads, bias=bias)
    count = sum(parameter.numel() for parameter in whole.parameters())
    out = sum(parameter.numel() for parameter in whole.out_proj.parameters())
    assert mha_parameters(12, heads, bias) == count
    assert qkv_parameters(12, heads, 12 // heads, 12 // heads, bias) == count - out


@pytest.mark.peer(
    "08", "`fit_power_law`, `fit_exponent`", "`numpy.polyfit`", "float64 1e-7",
    "exponent, factor, standard error",
)  # fmt: skip
def test_a_power_law_is_numpy_s_fit_of_the_logarithms() -> None:
    x = [1.0, 2.0, 5.0, 11.0, 40.0]
    y = (3 * np.array(x) ** 1.5 * np.exp([0.1, -0.2, 0.05, 0.3, -0.1])).tolist()
    slope, covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    law = fit_power_law(x, y)
    got = (law.exponent, law.prefactor, law.error, fit_exponent(x, y))
    want = (slope[0], np.exp(slope[1]), covariance[0, 0] ** 0.5, slope[0])
    torch.testing.assert_close(got, tuple(map(float, want)))
