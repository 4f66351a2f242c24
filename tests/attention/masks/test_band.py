from itertools import product

import pytest
import torch

from course_utils.attention import (
    band_mask,
    causal_mask,
    chunk_mask,
    combine_masks,
    packed_ids,
    same_document_mask,
    window_mask,
)
from tests import support
from tests.support import table

LENGTHS = [*support.LENGTHS, (0, 3), (3, 0)]
OFFSETS = [0, 1, 2, 4, 9, -1, -2, -9]


@pytest.mark.parametrize("left", [0, 1, 3, 50, None])
@pytest.mark.parametrize("right", [0, 2, 50, None])
def test_a_band_holds_so_many_keys_to_each_side(right, left) -> None:
    low, high = 99 if left is None else left, 99 if right is None else right
    for lengths, offset in product(LENGTHS, OFFSETS):
        want = table(*lengths, lambda i, j, own=offset: i + own - low <= j <= i + own + high)
        assert torch.equal(band_mask(*lengths, left, right, offset), want)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_causal_and_windows_are_bands(lengths) -> None:
    for offset in OFFSETS:
        assert torch.equal(band_mask(*lengths, None, 0, offset), causal_mask(*lengths, offset))
        assert torch.equal(band_mask(*lengths, 2, 0, offset), window_mask(*lengths, 3, offset))


@pytest.mark.parametrize("chunk", [1, 2, 3, 50])
def test_a_chunk_is_read_up_to_the_query(chunk) -> None:
    for lengths, offset in product(LENGTHS, OFFSETS):
        want = table(
            *lengths,
            lambda i, j, own=offset: j <= i + own and j // chunk == (i + own) // chunk,
        )
        assert torch.equal(chunk_mask(*lengths, chunk, offset), want)


def test_a_chunk_stays_where_a_window_moves() -> None:
    assert chunk_mask(6, 6, 3).sum(-1).tolist() == [1, 2, 3, 1, 2, 3]
    assert window_mask(6, 6, 3).sum(-1).tolist() == [1, 2, 3, 3, 3, 3]
    assert torch.equal(chunk_mask(5, 5, 9), causal_mask(5, 5))


def test_masks_of_practice_combine() -> None:
    row = packed_ids(torch.tensor([3, 4])).unsqueeze(0)
    mask = combine_masks(same_document_mask(row, row), band_mask(7, 7, 1, 0), chunk_mask(7, 7, 2))
    want = [
        [i // 2 == j // 2 and j <= i and (i < 3) == (j < 3) for j in range(7)] for i in range(7)
    ]
    assert torch.equal(mask[0, 0], torch.tensor(want))
