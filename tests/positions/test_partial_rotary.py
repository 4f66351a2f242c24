import pytest
import torch

from course_utils.positions import PartialRotaryPositions, RotaryPositions, rope_interleaved
from tests.support import draw


def test_the_first_features_are_turned_and_the_others_stay() -> None:
    query, key, at, of = draw(2, 4, 3, 10), draw(2, 2, 5, 10), torch.arange(2, 5), torch.arange(5)
    scheme = PartialRotaryPositions(6, 50.0, pairing="interleaved")
    for got, given, places in zip(
        scheme.rotate(query, key, at, of), (query, key), (at, of), strict=True
    ):
        torch.testing.assert_close(got[..., :6], rope_interleaved(given[..., :6], places, 50.0))
        assert torch.equal(got[..., 6:], given[..., 6:])


def test_as_wide_as_the_head_it_is_rope() -> None:
    query, places = draw(2, 3, 4, 8), torch.arange(4)
    ours = PartialRotaryPositions(8).rotate(query, query, places, places)
    torch.testing.assert_close(ours, RotaryPositions(8).rotate(query, query, places, places))


def test_wrong_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="d_k must be even, got 5"):
        PartialRotaryPositions(5)
    with pytest.raises(ValueError, match="heads must be at least 8 wide, got 6"):
        PartialRotaryPositions(8).rotate(
            draw(1, 1, 2, 8), draw(1, 1, 2, 6), torch.arange(2), torch.arange(2)
        )
