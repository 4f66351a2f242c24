from itertools import product

import pytest
import torch

from course_utils.attention import causal_mask
from course_utils.attention.tiled.flash.spans import count_tiles, visible_spans

LENGTHS = torch.tensor([0, 2, 5, 0, 1])
OTHERS = torch.tensor([3, 1, 4, 2, 0])
ASKED = [
    {},
    {"is_causal": True},
    {"is_causal": True, "offset": 3},
    {"is_causal": True, "offset": -4},
    {"is_causal": True, "window": (2, 1)},
    {"window": (2, None)},
    {"window": (None, 1), "offset": 2},
    {"window": (0, 0)},
    {"lengths": (LENGTHS, OTHERS)},
    {"lengths": (LENGTHS, OTHERS), "offset": OTHERS - LENGTHS, "is_causal": True},
    {"lengths": (LENGTHS, OTHERS), "offset": -1, "window": (1, 1)},
]


def table(is_causal=False, offset=0, window=(None, None), lengths=None, shape=(8, 10)):
    """Return the mask written out, query by query and key by key."""
    documents = [[0] * size for size in shape]
    own = list(range(shape[0]))
    if lengths is not None:
        documents = [torch.arange(5).repeat_interleave(x).tolist() for x in lengths]
        starts = [(x.cumsum(0) - x).tolist() for x in lengths]
        own = [i - starts[0][d] + starts[1][d] for i, d in enumerate(documents[0])]
    shifts = [offset if isinstance(offset, int) else int(offset[d]) for d in documents[0]]
    mask = torch.zeros(shape, dtype=torch.bool)
    for i, j in product(*map(range, shape)):
        after = j - own[i] - shifts[i]
        mask[i, j] = documents[0][i] == documents[1][j] and not (
            (is_causal and after > 0)
            or (window[0] is not None and -after > window[0])
            or (window[1] is not None and after > window[1])
        )
    return mask


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_both_sides_are_the_mask_written_out(asked) -> None:
    want = table(**asked)
    queries, keys, _ = visible_spans(8, 10, **asked)
    row, column = torch.arange(8).unsqueeze(-1), torch.arange(10)
    low, limit = queries.unsqueeze(-1)
    assert torch.equal((column >= low) & (column < limit), want)
    first, stop = keys
    assert torch.equal((row >= first) & (row < stop), want)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 3), (3, 2), (100, 100)])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_tiles_visited_hold_all_pairs_and_those_uncut_hide_none(asked, blocks) -> None:
    mask, (block_q, block_k) = table(**asked), blocks
    tiles = [x for rows in mask.split(block_q) for x in rows.split(block_k, 1)]
    visited, cut, every = count_tiles(visible_spans(8, 10, **asked), *blocks)
    assert every == len(tiles)
    assert visited >= sum(bool(x.any()) for x in tiles)
    assert visited - cut <= sum(bool(x.all()) for x in tiles)
    if blocks == (1, 1):
        assert (visited, cut) == (mask.sum(), 0)


def test_causal_tiles_are_a_half_and_one_diagonal() -> None:
    spans = visible_spans(640, 640, True)
    assert count_tiles(spans, 64, 64) == (55, 10, 100)
    assert torch.equal(spans.queries[1], causal_mask(640, 640).sum(1))


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"is_causal": 1}, TypeError, "is_causal must be a bool, got int"),
        ({"offset": 1.0}, TypeError, "offset must be a int, got float"),
        ({"window": 3}, TypeError, "window must be a tuple, got int"),
        ({"window": (3,)}, ValueError, r"a pair: keys before, keys after, got \(3,\)"),
        ({"window": (3, -1)}, ValueError, "window must be at least 0, got -1"),
        ({"lengths": (LENGTHS,)}, ValueError, "lengths must be one tensor or two, got 1"),
        ({"lengths": LENGTHS.float()}, TypeError, "lengths must hold integers"),
        ({"lengths": LENGTHS}, ValueError, r"the keys must be .* and sum to 10, got \[0, 2, 5,"),
        ({"lengths": (LENGTHS, OTHERS[:4])}, ValueError, "the keys must be at least 0, one for ea"),
        ({"lengths": (LENGTHS - 1, OTHERS)}, ValueError, "the queries must be at least 0, one fo"),
        (
            {"lengths": (LENGTHS, OTHERS), "offset": OTHERS[:4]},
            ValueError, "offset must have a number for each of 5 documents, got 4",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(asked, error, says) -> None:
    with pytest.raises(error, match=says):
        visible_spans(8, 10, **asked)


@pytest.mark.parametrize(
    ("block", "error", "says"),
    [(0, ValueError, "block_k must be at least 1, got 0"), (2.0, TypeError, "block_k must be an")],
)
def test_a_tile_has_at_least_one_row(block, error, says) -> None:
    with pytest.raises(error, match=says):
        count_tiles(visible_spans(8, 10), 2, block)
