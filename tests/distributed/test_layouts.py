import pytest
import torch

from course_utils.distributed import (
    contiguous_split,
    ring_schedule,
    ring_work,
    striped_split,
    zigzag_split,
)

SPLITS = (contiguous_split, striped_split, zigzag_split)


def test_layouts_of_eight_tokens_on_two_ranks() -> None:
    assert contiguous_split(8, 2).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert striped_split(8, 2).tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert zigzag_split(8, 2).tolist() == [[0, 1, 6, 7], [2, 3, 4, 5]]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_each_token_is_held_once_and_each_rank_s_ascend(split, world_size) -> None:
    positions = split(60, world_size)
    assert positions.shape == (world_size, 60 // world_size)
    assert positions.dtype == torch.long
    assert positions.is_contiguous()
    assert sorted(positions.flatten().tolist()) == list(range(60))
    assert bool((positions.diff(dim=1) > 0).all())


@pytest.mark.parametrize(
    ("split", "tokens", "parts"),
    [(contiguous_split, 10, 4), (striped_split, 10, 4), (zigzag_split, 12, 8)],
)
def test_an_uneven_share_is_refused(split, tokens, parts) -> None:
    with pytest.raises(ValueError, match=f"must be a multiple of {parts} here, got {tokens}"):
        split(tokens, 4)


def test_a_schedule_hands_every_block_to_the_next_rank() -> None:
    held = [ring_schedule(4, rank) for rank in range(4)]
    assert held[0] == [0, 3, 2, 1]
    for rank in range(4):
        assert sorted(held[rank]) == [0, 1, 2, 3]
        assert held[(rank + 1) % 4][1:] == held[rank][:-1]  # what a neighbour held a step ago


def test_a_rank_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="rank must be less than 4, got 4"):
        ring_schedule(4, 4)


def counted(positions: torch.Tensor) -> list[list[int]]:
    """Count the queries that see some key of a block, times the keys that some query sees."""
    world_size = len(positions)
    rows = []
    for rank, own in enumerate(positions.tolist()):
        row = []
        for step in range(world_size):
            block = positions[(rank - step) % world_size].tolist()
            queries = [i for i in own if any(j <= i for j in block)]
            keys = [j for j in block if any(j <= i for i in own)]
            row.append(len(queries) * len(keys))
        rows.append(row)
    return rows


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_work_is_what_is_multiplied(split, world_size) -> None:
    positions = split(24, world_size)
    assert ring_work(positions).tolist() == counted(positions)


@pytest.mark.parametrize(("world_size", "uneven"), [(2, 4 / 3), (4, 1.6), (8, 16 / 9)])
def test_zigzag_is_even_and_contiguous_is_not(world_size, uneven) -> None:
    """Most over mean: what the chapter says of balance."""

    def most_over_mean(positions: torch.Tensor) -> float:
        pairs = ring_work(positions).sum(1).double()
        return float(pairs.max() / pairs.mean())

    assert most_over_mean(contiguous_split(64, world_size)) == pytest.approx(uneven)
    assert most_over_mean(zigzag_split(64, world_size)) == 1.0


@pytest.mark.parametrize("world_size", [2, 4, 8])
def test_the_slowest_rank_of_a_contiguous_ring_does_as_much_as_without_a_mask(world_size) -> None:
    whole = 64**2 // world_size
    slowest = {
        split: int(ring_work(split(64, world_size)).amax(0).sum())
        for split in (contiguous_split, zigzag_split)
    }
    assert slowest[contiguous_split] == whole
    assert slowest[zigzag_split] == whole * (1 + 1 / world_size) / 2


def test_work_refuses_ranks_without_tokens() -> None:
    with pytest.raises(ValueError, match="every rank must hold a token"):
        ring_work(torch.zeros(2, 0, dtype=torch.long))
    with pytest.raises(TypeError, match="positions must hold integers"):
        ring_work(torch.zeros(2, 3))
