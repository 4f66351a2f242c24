import pytest

from course_utils.measure import additive_flops


def one_operation_at_a_time(
    num_queries: int, num_keys: int, d_q: int, d_k: int, d_a: int, precompute: bool
) -> int:
    """Walk through the computation and count."""
    count = 0

    def project(width: int) -> None:
        nonlocal count
        for _ in range(d_a):
            for _ in range(width):
                count += 2

    if precompute:
        for _ in range(num_queries):
            project(d_q)
        for _ in range(num_keys):
            project(d_k)
    for _ in range(num_queries):
        for _ in range(num_keys):
            if not precompute:
                project(d_q)
                project(d_k)
            for _ in range(d_a):
                count += 1  # the sum of both projections
                count += 1  # tanh
                count += 2  # times v, added up
    return count


@pytest.mark.parametrize("precompute", [True, False])
@pytest.mark.parametrize(
    "sizes", [(3, 5, 2, 7, 4), (6, 2, 5, 3, 4), (1, 1, 2, 3, 5), (2, 0, 3, 4, 5)]
)
def test_agrees_with_counting_one_operation_at_a_time(sizes, precompute) -> None:
    assert additive_flops(*sizes, precompute) == one_operation_at_a_time(*sizes, precompute)


def test_for_one_pair_precomputing_saves_nothing() -> None:
    sizes = (1, 1, 7, 5, 3)
    assert additive_flops(*sizes, True) == additive_flops(*sizes, False)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 0, got -1"):
        additive_flops(3, -1, 2, 2, 2, True)
