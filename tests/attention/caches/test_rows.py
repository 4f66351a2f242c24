"""Rows of a cache that move: every kind, in place or not, and what is refused."""

import pytest
import torch

from course_utils.attention import RollingCache, reorder_cache
from tests.attention.caches.support import (
    KINDS,
    LENGTH,
    B,
    new_cache,
    qkv,
    read,
    same,
    state,
    without_cache,
)

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"beams": torch.tensor([0, 3, 1])}, ValueError, "sequences from 0 to 2, got 3"),
        ({"beams": torch.tensor([0, -1, 1])}, ValueError, "sequences from 0 to 2, got -1"),
        ({"length": 7}, ValueError, "length must lie between 0 and the 6 slots, got 7"),
        ({"cache_value": torch.zeros(3, 2, 6, 4).double()}, TypeError, "dtype"),
    ],
)
def test_an_order_that_cannot_be_is_refused_and_nothing_is_written(changed, error, message) -> None:
    given = {
        "cache_key": torch.rand(3, 2, 6, 4), "cache_value": torch.rand(3, 2, 6, 4), "length": 4,
        "beams": torch.tensor([2, 1, 0]),
    }  # fmt: skip
    before = given["cache_key"].clone()
    with pytest.raises(error, match=message):
        reorder_cache(**(given | changed))
    assert torch.equal(given["cache_key"], before)


@each_kind
@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [1], [1, 0, 1], [0, 1]], ids=str)
@pytest.mark.parametrize("before", [1, 4, 9])
def test_rows_go_on_from_the_past_that_they_name(kind, rows, before) -> None:
    query, key, value = qkv()
    cache = new_cache(kind)
    read(cache, (before,), *(x[:, :, :before] for x in (query, key, value)))
    if len(rows) == B:
        cache.reorder(torch.tensor(rows))
    else:
        cache.select(torch.tensor(rows))
    assert (cache.batch, cache.length) == (len(rows), before)
    later = [
        x[[number % B for number in range(len(rows))], :, before:15] for x in (query, key, value)
    ]
    got = read(cache, (1, 5, 9 - before) if before < 9 else (1, 5), *later)
    whole = [
        torch.cat([x[rows, :, :before], new], 2)
        for x, new in zip((query, key, value), later, strict=True)
    ]
    torch.testing.assert_close(got, without_cache(kind, *whole)[:, :, before:])


@each_kind
def test_repeated_rows_stand_side_by_side_and_go_apart(kind) -> None:
    query, key, value = qkv()
    cache = new_cache(kind)
    read(cache, (6,), *(x[:, :, :6] for x in (query, key, value)))
    cache.repeat(3)
    assert cache.batch == 3 * B
    more = [torch.cat([x[:, :, at : at + 2] for at in (6, 9, 12)], 0) for x in (query, key, value)]
    order = [0, 2, 4, 1, 3, 5]  # from texts by branch to branches by text
    later = [x[order] for x in more]
    got = read(cache, (1, 1), *later)
    past = [x[:, :, :6].repeat_interleave(3, 0) for x in (query, key, value)]
    whole = [torch.cat(pair, 2) for pair in zip(past, later, strict=True)]
    torch.testing.assert_close(got, without_cache(kind, *whole)[:, :, 6:])


@each_kind
def test_rows_that_cannot_be_are_refused(kind) -> None:
    cache = new_cache(kind)
    cache.append(*qkv(length=5)[1:])
    before = state(cache)
    for call, given, error, message in (
        (cache.reorder, torch.tensor([0]), ValueError, f"beams must name {B} sequences, got 1"),
        (cache.reorder, torch.tensor([0, 2]), ValueError, "beams must name sequences from 0 to 1"),
        (cache.select, torch.tensor([-1]), ValueError, "rows must name sequences from 0 to 1"),
        (cache.select, torch.tensor([]).long(), ValueError, "rows must name at least one sequence"),
        (cache.select, torch.tensor([0.0]), TypeError, "rows must hold integers"),
        (cache.repeat, 0, ValueError, "times must be at least 1, got 0"),
        (cache.repeat, 2.0, TypeError, "times must be an int"),
    ):
        with pytest.raises(error, match=message):
            call(given)
    assert same(state(cache), before)


def test_pages_that_nobody_names_are_free_again_and_shared_ones_are_not_copied() -> None:
    cache = new_cache("paged")
    cache.append(*qkv(length=7)[1:])
    used = len(cache.pool.num_users) - cache.pool.num_free
    cache.reorder(torch.tensor([1, 1]))
    assert cache.tables[0] == cache.tables[1]
    assert len(cache.pool.num_users) - cache.pool.num_free == used // B
    cache.append(*(x[:, :, :1] for x in qkv()[1:]))
    assert cache.tables[0][-1] != cache.tables[1][-1]
    cache.release()
    assert cache.pool.num_free == len(cache.pool.num_users)


def test_a_cache_is_reordered_where_it_lies() -> None:
    cache = new_cache("plain")
    cache.append(*qkv(length=7)[1:])
    memory = cache.key.data_ptr()
    cache.reorder(torch.tensor([1, 0]))
    assert cache.key.data_ptr() == memory


@pytest.mark.parametrize(
    "split", [(LENGTH,), (1,) * LENGTH, (7, 1, 1, 8, 6), (4, 4, 4, 4, 7)], ids=str
)
@pytest.mark.parametrize("sinks", [0, 1, 3])
@pytest.mark.parametrize("first", [[0, 4], [9, 0], [3, 3], [0, 21]], ids=str)
def test_a_padded_rolling_cache_gives_each_sequence_what_it_has_alone(first, sinks, split) -> None:
    given = qkv()
    cache = RollingCache(B, 3, 5, window=5, num_sinks=sinks, dtype=torch.float64)
    cache.begin(torch.tensor(first))
    got = read(cache, split, *given)
    for row, begun in enumerate(first):
        alone = RollingCache(1, 3, 5, window=5, num_sinks=sinks, dtype=torch.float64)
        own = [x[row : row + 1, :, begun:] for x in given]
        want = read(alone, (own[0].shape[2],), *own)
        torch.testing.assert_close(got[row : row + 1, :, begun:], want)
    assert not got.isnan().any()


def test_a_padded_rolling_cache_is_cropped_and_reordered_with_its_beginnings() -> None:
    query, key, value = qkv()
    for order in ([1, 0], [1]):
        cache = RollingCache(B, 3, 5, window=9, num_sinks=2, dtype=torch.float64)
        cache.begin(torch.tensor([0, 3]))
        read(cache, (8,), *(x[:, :, :8] for x in (query, key, value)))
        cache.crop(6)
        cache.select(torch.tensor(order))
        later = [x[: len(order), :, 6:12] for x in (query, key, value)]
        got = read(cache, (1, 5), *later)
        for row, came_from in enumerate(order):
            begun = [0, 3][came_from]
            own = [
                torch.cat([x[came_from : came_from + 1, :, begun:6], new[row : row + 1]], 2)
                for x, new in zip((query, key, value), later, strict=True)
            ]
            alone = RollingCache(1, 3, 5, window=9, num_sinks=2, dtype=torch.float64)
            want = read(alone, (own[0].shape[2],), *own)
            torch.testing.assert_close(got[row : row + 1], want[:, :, 6 - begun :])


def test_a_beginning_that_cannot_be_is_refused() -> None:
    cache = RollingCache(B, 3, 5, window=4, dtype=torch.float64)
    query, key, value = qkv(length=2)
    with pytest.raises(ValueError, match=r"first must have the shape \(2,\)"):
        cache.begin(torch.tensor([0]))
    with pytest.raises(TypeError, match="first must hold integers"):
        cache.begin(torch.tensor([0.0, 1.0]))
    cache.append(key, value)
    with pytest.raises(ValueError, match="must be empty to begin, got 2 tokens"):
        cache.begin(torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"first must be what begin was told, None, got \[0, 1\]"):
        cache.attend(query, torch.tensor([0, 1]))


@pytest.mark.parametrize("sinks", [0, 2])
@pytest.mark.parametrize("pieces", [(3,), (9,), (9, 1), (4, 4)], ids=str)
def test_what_is_read_are_the_keys_with_their_places(pieces, sinks) -> None:
    _, key, value = qkv()
    cache, end = RollingCache(B, 3, 5, window=4, num_sinks=sinks, dtype=torch.float64), 0
    for new in pieces:
        cache.append(key[:, :, end : end + new], value[:, :, end : end + new])
        end += new
    keys, values, places = cache.read()
    assert torch.equal(keys, key[:, :, places])
    assert torch.equal(values, value[:, :, places])
    oldest = max(end - pieces[-1] - 3, 0)
    want = {*range(min(sinks, end)), *range(oldest if pieces[-1] > 1 else max(end - 4, 0), end)}
    assert set(places.tolist()) == want


def test_sequences_with_sinks_of_their_own_have_no_common_places() -> None:
    cache = RollingCache(B, 3, 5, window=4, num_sinks=1, dtype=torch.float64)
    cache.begin(torch.tensor([0, 1]))
    cache.append(*qkv(length=3)[1:])
    with pytest.raises(ValueError, match="read needs sequences that begin together"):
        cache.read()
