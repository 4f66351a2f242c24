import math

import pytest
import torch

from course_utils.positions import rope_frequencies, yarn_frequencies, yarn_magnitude


def test_fast_pairs_stay_slow_pairs_are_divided_and_between_it_falls() -> None:
    own = rope_frequencies(64)
    new = yarn_frequencies(64, factor=8.0, trained_length=2048)
    slowed = own / new
    turns = 2048 * own / (2 * math.pi)
    torch.testing.assert_close(slowed[turns > 40], torch.ones_like(slowed[turns > 40]))
    torch.testing.assert_close(slowed[turns < 0.7], torch.full_like(slowed[turns < 0.7], 8.0))
    assert bool((slowed.diff() >= -1e-12).all())


def test_factor_1_changes_nothing() -> None:
    torch.testing.assert_close(
        yarn_frequencies(16, factor=1.0, trained_length=64), rope_frequencies(16)
    )
    assert yarn_magnitude(1.0) == 1.0


def test_the_magnitude_grows_with_the_logarithm() -> None:
    assert yarn_magnitude(math.e) == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"base": 1.0}, "base must be above 1, got 1.0"),
        ({"fast": 1.0}, "fast must be above slow, got 1.0 and 1.0"),
    ],
)
def test_wrong_arguments_are_refused(changed, says) -> None:
    arguments = {"d_k": 8, "factor": 2.0, "trained_length": 64, **changed}
    with pytest.raises(ValueError, match=says):
        yarn_frequencies(arguments.pop("d_k"), **arguments)


def test_without_truncation_the_ramp_begins_between_two_pairs() -> None:
    given = {"factor": 32.0, "trained_length": 4096, "base": 150_000.0}
    own = rope_frequencies(64, 150_000.0)
    whole, between = (own / yarn_frequencies(64, **given, truncate=t) for t in (True, False))
    assert bool((between >= 1 - 1e-9).all() and (between <= 32 + 1e-9).all())
    assert int((between == 1).sum()) >= int((whole == 1).sum())
    assert not torch.allclose(whole, between)
    with pytest.raises(TypeError, match="truncate must be a bool, got int"):
        yarn_frequencies(64, **given, truncate=0)
