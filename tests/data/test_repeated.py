"""Segments that repeat behind a start token."""

import pytest
import torch

from course_utils.data.repeated import START_SYMBOL, SYMBOLS, repeated_segments


def drawn(period: int, length: int, sequences: int = 7, **kind: bool) -> torch.Tensor:
    return repeated_segments(period, length, sequences, torch.Generator().manual_seed(0), **kind)


@pytest.mark.parametrize(("period", "length"), [(1, 5), (8, 20), (24, 48), (9, 4)])
@pytest.mark.parametrize("distinct", [False, True])
def test_each_symbol_is_said_again_a_period_later(period: int, length: int, distinct: bool) -> None:
    tokens = drawn(period, length, distinct=distinct)
    assert tokens.shape == (7, 1 + length)
    assert (tokens[:, 0] == START_SYMBOL).all()
    symbols = tokens[:, 1:]
    assert ((symbols >= 0) & (symbols < SYMBOLS)).all()
    assert torch.equal(symbols[:, period:], symbols[:, : max(0, length - period)])


def test_distinct_segments_hold_no_symbol_twice_and_others_may() -> None:
    def doubles(tokens: torch.Tensor) -> list[int]:
        return [20 - len(set(row.tolist())) for row in tokens[:, 1:21]]

    assert doubles(drawn(20, 20, distinct=True)) == [0] * 7
    assert max(doubles(drawn(20, 20))) > 0


def test_too_long_a_distinct_segment_is_said() -> None:
    with pytest.raises(ValueError, match="a distinct period must be at most 32, got 33"):
        drawn(33, 40, distinct=True)
    with pytest.raises(ValueError, match="period must be at least 1, got 0"):
        drawn(0, 40)
