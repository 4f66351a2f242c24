import math

import pytest

from course_utils.positions import longrope_frequencies, longrope_magnitude, rope_frequencies


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
