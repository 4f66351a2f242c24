import pytest
import torch

from course_utils.measure import attainable_flops, count_flops, matmul_bytes, matmul_intensity

SIZES = [(3, 5, 2), (5, 3, 7), (4, 4, 4), (1, 6, 3), (6, 1, 1)]


def scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    return query @ key.T


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize(("num_queries", "num_keys", "d_k"), SIZES)
def test_agrees_with_real_tensors_and_torch_s_counter(num_queries, num_keys, d_k, dtype) -> None:
    query = torch.zeros(num_queries, d_k, dtype=dtype)
    key = torch.zeros(num_keys, d_k, dtype=dtype)
    sizes = (num_queries, num_keys, d_k, dtype.itemsize)
    read, written = query.nbytes + key.nbytes, scores(query, key).nbytes
    assert matmul_bytes(*sizes, False) == read
    assert matmul_bytes(*sizes, True) == read + written
    flops = count_flops(scores, query, key)
    assert matmul_intensity(*sizes, False) == flops / read
    assert matmul_intensity(*sizes, True) == flops / (read + written)


def test_written_scores_keep_the_intensity_below_d_k_at_two_bytes() -> None:
    for length in (64, 1024, 10**6):
        assert matmul_intensity(length, length, 64, 2, count_output=True) < 64


def test_one_query_at_a_time_reads_a_number_for_every_multiply_add() -> None:
    assert matmul_intensity(1, 10**6, 64, 2, count_output=False) == pytest.approx(1, abs=1e-5)


def test_an_intensity_is_a_float() -> None:
    assert type(matmul_intensity(4, 4, 4, 4, False)) is float
    assert type(attainable_flops(1, 2, 3)) is float


def test_the_roofs_meet_at_the_ridge() -> None:
    peak, bandwidth = 300.0, 2.0
    ridge = peak / bandwidth
    assert attainable_flops(ridge, peak, bandwidth) == peak
    assert attainable_flops(2 * ridge, peak, bandwidth) == peak
    assert attainable_flops(ridge / 2, peak, bandwidth) == peak / 2
    assert attainable_flops(0, peak, bandwidth) == 0


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"at least 0, got \(1.0, -2.0, 3.0\)"):
        attainable_flops(1.0, -2.0, 3.0)
