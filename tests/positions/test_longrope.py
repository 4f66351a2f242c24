import math

import pytest
import torch

from course_utils.positions import (
    RotaryPositions,
    longrope_frequencies,
    longrope_magnitude,
    rope_frequencies,
)
from course_utils.positions.longrope import LongRotaryPositions
from tests.support import draw


def test_each_pair_is_divided_by_its_own_factor() -> None:
    slowed_by = [1.0, 1.5, 4.0]
    got = longrope_frequencies(6, slowed_by, 50.0)
    for pair, frequency in enumerate(rope_frequencies(6, 50.0).tolist()):
        assert got[pair].item() == pytest.approx(frequency / slowed_by[pair])


def test_the_magnitude_grows_with_the_logarithm() -> None:
    assert longrope_magnitude(1.0, 64) == 1.0
    assert longrope_magnitude(32.0, 4096) == pytest.approx(math.sqrt(1 + 5 / 12))


@pytest.mark.parametrize(
    ("slowed_by", "error", "says"),
    [
        ([1.0] * 4, ValueError, "slowed_by must hold 3 numbers, got 4"),
        (["1"] * 3, TypeError, "each number of slowed_by must be a number, got str"),
        ([1.0, 0.0, 1.0], ValueError, "each number of slowed_by must be a positive number, got 0"),
    ],
)
def test_wrong_factors_are_refused(slowed_by, error, says) -> None:
    with pytest.raises(error, match=says):
        longrope_frequencies(6, slowed_by)


def test_one_token_past_the_border_turns_the_whole_text_by_the_long_list() -> None:
    short, long = RotaryPositions(6, 50.0), RotaryPositions(6, 900.0)
    scheme, query = LongRotaryPositions(short, long, 4), draw(2, 3, 5, 6)
    for length, used in ((4, short), (5, long)):
        part, places = query[:, :, :length], torch.arange(length)
        got, wanted = (one.rotate(part, part, places, places) for one in (scheme, used))
        torch.testing.assert_close(got, wanted)


def test_a_cache_cannot_cross_the_border() -> None:
    scheme = LongRotaryPositions(RotaryPositions(6), RotaryPositions(6, 900.0), 4)
    for first in (1, 4):
        places = torch.arange(first, 6)
        query = draw(1, 1, len(places), 6)
        with pytest.raises(ValueError, match=f"from its first token on, got its tokens {first} to"):
            scheme.rotate(query, query, places, places)
    scheme.rotate(*(draw(1, 1, 2, 6),) * 2, *(torch.arange(5, 7),) * 2)  # begun past it
