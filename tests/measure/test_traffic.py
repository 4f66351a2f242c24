from course_utils.measure import hbm_traffic


def test_counts_are_whole_numbers_at_any_length() -> None:
    standard, flash = hbm_traffic(2**40, 64, 25_600)
    assert standard == 4 * 64 * 2**40 + 4 * 2**80
    assert type(flash) is int


def test_more_fast_memory_saves_traffic_and_none_costs_more_than_the_plain_way() -> None:
    moved = [hbm_traffic(4096, 64, sram)[1] for sram in (1, 1000, 25_600, 10**6, 10**9)]
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > hbm_traffic(4096, 64, 1)[0]
    assert moved[-1] == 5 * 4096 * 64 + 4 * 4096  # one block holds everything
