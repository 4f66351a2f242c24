"""One rank's part of the ring, with no process but this one."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.distributed import ring_attention, ring_attention_step, zigzag_split
from course_utils.measure import count_flops, largest_tensor

B, H, D_K, D_V = 2, 3, 5, 4


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def text(n: int) -> tuple[Tensor, Tensor, Tensor]:
    return drawn(B, H, n, D_K), drawn(B, H, n, D_K, seed=1), drawn(B, H, n, D_V, seed=2)


def naive(query: Tensor, key: Tensor, value: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and logsumexp, one query at a time."""
    outs, totals = [], []
    for q, place in zip(query.unbind(2), i.tolist(), strict=True):
        seen = [s for s, at in enumerate(j.tolist()) if at <= place]
        scores = torch.einsum("bhd,bhsd->bhs", q, key[:, :, seen]) / math.sqrt(query.shape[-1])
        if seen:
            outs.append(torch.einsum("bhs,bhsd->bhd", scores.softmax(-1), value[:, :, seen]))
            totals.append(scores.logsumexp(-1))
        else:
            outs.append(value.new_zeros(B, H, value.shape[-1]))
            totals.append(value.new_full((B, H), -torch.inf))
    return torch.stack(outs, 2), torch.stack(totals, 2)


def start(query: Tensor, d_v: int) -> tuple[Tensor, Tensor]:
    return query.new_zeros(*query.shape[:-1], d_v), query.new_full(query.shape[:-1], -torch.inf)


PLACES = {
    "all seen": ([4, 5, 6], [0, 1]),
    "own block": ([4, 5, 6, 7], [4, 5, 6, 7]),
    "some queries see nothing": ([0, 1, 6, 7], [2, 3, 4]),
    "the future": ([0, 1], [5, 6, 7]),
    "any order": ([7, 2, 5, 0], [6, 1, 3]),
}


@pytest.mark.parametrize(("i", "j"), PLACES.values(), ids=PLACES)
def test_one_block_is_naive_attention_over_it(i, j) -> None:
    query, key, value = drawn(B, H, len(i), D_K), drawn(B, H, len(j), D_K), drawn(B, H, len(j), D_V)
    i, j = torch.tensor(i), torch.tensor(j)
    made = ring_attention_step(*start(query, D_V), query, key, value, i, j)
    torch.testing.assert_close(made, naive(query, key, value, i, j), rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_blocks_in_any_order_are_attention_over_all(order) -> None:
    query, key, value = text(12)
    places = torch.arange(12)
    state = start(query, D_V)
    for block in order:
        part = slice(4 * block, 4 * block + 4)
        state = ring_attention_step(
            *state, query, key[:, :, part], value[:, :, part], places, places[part]
        )
    torch.testing.assert_close(state, naive(query, key, value, places, places), rtol=0, atol=1e-14)


def test_gradients_of_joined_blocks_are_those_of_one_softmax() -> None:
    given = [x.requires_grad_() for x in text(8)]
    places, slope = torch.arange(8), drawn(B, H, 8, D_V, seed=7)
    state = start(given[0], D_V)
    for part in (slice(0, 4), slice(4, 8)):
        key, value = (x[:, :, part] for x in given[1:])
        state = ring_attention_step(*state, given[0], key, value, places, places[part])
    ours = torch.autograd.grad(state[0], given, slope)
    whole = F.scaled_dot_product_attention(*given, is_causal=True)
    theirs = torch.autograd.grad(whole, given, slope)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def test_a_block_of_the_future_costs_nothing_and_changes_nothing() -> None:
    query, key, value = text(4)
    state = drawn(B, H, 4, D_V, seed=3), drawn(B, H, 4, seed=3)
    given = (*state, query, key, value, torch.arange(4), torch.arange(10, 14))
    assert count_flops(ring_attention_step, *given) == 0
    assert all(map(torch.equal, ring_attention_step(*given), state))


def test_a_zigzag_block_costs_its_visible_half() -> None:
    positions = zigzag_split(16, 2)
    query, key, value = text(8)
    given = (*start(query, D_V), query, key, value)
    both = 2 * B * H * 8 * 8 * (D_K + D_V)
    assert count_flops(ring_attention_step, *given, positions[0], positions[1]) == both // 2
    assert count_flops(ring_attention_step, *given, positions[1], positions[0]) == both // 2
    assert count_flops(ring_attention_step, *given, positions[1], positions[1]) == both


class Others:
    """The other ranks, which do what they should."""

    def __init__(self, keys: list[Tensor], values: list[Tensor], rank: int) -> None:
        self.keys, self.values, self.rank = keys, values, rank
        self.calls = self.ended = 0

    def begin(self, key: Tensor, value: Tensor) -> Callable[[], tuple[Tensor, Tensor]]:
        assert self.calls == self.ended  # one rotation after another
        held = (self.rank - self.calls) % len(self.keys)
        assert key is self.keys[held]  # what was handed on is what was held
        assert value is self.values[held]
        self.calls += 1
        before = (held - 1) % len(self.keys)

        def finish() -> tuple[Tensor, Tensor]:
            self.ended += 1
            return self.keys[before], self.values[before]

        return finish


@pytest.mark.parametrize("world_size", [1, 2, 3, 6])
def test_the_ranks_rows_together_are_causal_attention(world_size) -> None:
    query, key, value = text(12)
    queries, keys, values = (list(x.chunk(world_size, 2)) for x in (query, key, value))
    rows = []
    for rank in range(world_size):
        others = Others(keys, values, rank)
        rows.append(
            ring_attention(queries[rank], keys[rank], values[rank], others.begin, rank, world_size)
        )
        assert others.calls == others.ended == world_size - 1
    whole = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(torch.cat(rows, 2), whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rank", [0, 2, 4])
def test_a_rank_multiplies_what_it_sees_and_holds_no_more_than_a_block(rank) -> None:
    queries, keys, values = (list(x.chunk(5, 2)) for x in text(40))
    given = (queries[rank], keys[rank], values[rank])

    def part(*given: Tensor) -> Tensor:
        return ring_attention(*given, Others(keys, values, rank).begin, rank, 5)

    assert count_flops(part, *given) == (rank + 1) * 2 * B * H * 8 * 8 * (D_K + D_V)
    assert largest_tensor(part, *given) <= B * H * 8 * 8


def test_what_does_not_fit_is_refused() -> None:
    query, key, value = text(4)
    given = (*start(query, D_V), query, key, value)
    places = torch.arange(4)
    with pytest.raises(ValueError, match="query_positions must have the shape"):
        ring_attention_step(*given, places[:3], places)
    with pytest.raises(ValueError, match="lse must have the shape"):
        ring_attention_step(given[0], given[1][..., :3], *given[2:], places, places)
    with pytest.raises(TypeError, match="key_positions must hold integers"):
        ring_attention_step(*given, places, places.double())
    with pytest.raises(TypeError, match="begin must be callable, got NoneType"):
        ring_attention(query, key, value, None, 0, 1)
    with pytest.raises(ValueError, match="rank must be less than 2, got 2"):
        ring_attention(query, key, value, lambda k, v: lambda: (k, v), 2, 2)
