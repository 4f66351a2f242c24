import pytest

from course_utils.measure import hbm_traffic


def by_loops(num_tokens: int, d: int, sram_elements: int) -> tuple[int, int]:
    """Walk both algorithms and note each matrix and vector that is moved."""
    n, matrix = num_tokens, num_tokens * d
    standard = (2 * matrix + n * n) + (n * n + n * n) + (n * n + matrix + matrix)
    keys_a_block = (sram_elements + 4 * d - 1) // (4 * d)
    flash = 0
    for first in range(0, n, keys_a_block):
        flash += 2 * d * min(keys_a_block, n - first)  # this block's keys and values
        flash += 3 * matrix + 4 * n  # q; o, l and m in and out
    return standard, flash


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (7, 3, 20), (64, 16, 1000), (100, 8, 33), (5, 2, 999)]
)
def test_counts_what_both_algorithms_move(sizes) -> None:
    assert hbm_traffic(*sizes) == by_loops(*sizes)


def test_counts_are_whole_numbers_at_any_length() -> None:
    standard, flash = hbm_traffic(2**40, 64, 25_600)
    assert standard == 4 * 64 * 2**40 + 4 * 2**80
    assert type(flash) is int


def test_more_fast_memory_saves_traffic_and_none_costs_more_than_the_plain_way() -> None:
    moved = [hbm_traffic(4096, 64, sram)[1] for sram in (1, 1000, 25_600, 10**6, 10**9)]
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > hbm_traffic(4096, 64, 1)[0]
    assert moved[-1] == 5 * 4096 * 64 + 4 * 4096  # one block holds everything
