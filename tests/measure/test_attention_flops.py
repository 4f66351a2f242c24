import pytest
import torch

from course_utils.attention import scaled_dot_product_attention
from course_utils.measure import attainable_flops, attention_flops, count_flops


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 4, 6), (3, 1, 8, 2, 5, 5)])
def test_is_what_torch_s_counter_counts(sizes) -> None:
    batch, heads, num_queries, num_keys, d_k, d_v = sizes
    query = torch.zeros(batch, heads, num_queries, d_k)
    key, value = (torch.zeros(batch, heads, num_keys, width) for width in (d_k, d_v))
    assert attention_flops(*sizes) == count_flops(scaled_dot_product_attention, query, key, value)


def test_fusing_takes_512_tokens_over_the_ridge_of_an_a100() -> None:
    n, d, peak, bandwidth = 512, 64, 312e12, 1.555e12
    flops = attention_flops(1, 1, n, n, d, d)
    unfused, fused = (flops / (2 * moved) for moved in (4 * n * d + 4 * n * n, 4 * n * d))
    assert (unfused, fused) == (pytest.approx(28.4, abs=0.1), n / 2)
    assert attainable_flops(unfused, peak, bandwidth) == pytest.approx(44.2e12, rel=1e-3)
    assert attainable_flops(fused, peak, bandwidth) == peak


@pytest.mark.parametrize(
    ("sizes", "kind", "message"),
    [
        ((1, 1, 1, 0, 1, 1), ValueError, "num_keys must be at least 1, got 0"),
        ((1, True, 1, 1, 1, 1), TypeError, "num_heads must be an int, got bool"),
    ],
)
def test_bad_sizes_are_named(sizes, kind, message) -> None:
    with pytest.raises(kind, match=message):
        attention_flops(*sizes)
