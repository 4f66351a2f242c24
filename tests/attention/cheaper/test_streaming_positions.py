import pytest
import torch

from course_utils.attention import rolling_cache_positions, streaming_positions


def test_two_sinks_and_a_window_of_three() -> None:
    assert streaming_positions(6, 3, 2).tolist() == [
        [0, -1, -1, -1, -1, -1],
        [0, 1, -1, -1, -1, -1],
        [0, 1, 2, -1, -1, -1],
        [0, 1, 2, 3, -1, -1],
        [0, 1, 2, 3, 4, -1],
        [0, 1, -1, 2, 3, 4],
    ]


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("num_sinks", [0, 1, 4])
def test_places_are_those_in_a_list_that_is_kept_step_by_step(window, num_sinks) -> None:
    table = streaming_positions(14, window, num_sinks)
    assert table.dtype == torch.long
    held: list[int] = []
    for query, places in enumerate(table.tolist()):
        held.append(query)
        if len(held) > window + num_sinks:
            held.pop(num_sinks)
        assert places == [held.index(key) if key in held else -1 for key in range(14)]
        assert held == rolling_cache_positions(query + 1, window, num_sinks)


def test_no_distance_exceeds_the_cache() -> None:
    table = streaming_positions(40, 5, 3)
    assert int((table.diagonal().unsqueeze(1) - table)[table >= 0].max()) == 3 + 5 - 1


def test_no_tokens_make_an_empty_table() -> None:
    assert streaming_positions(0, 3, 2).shape == (0, 0)
