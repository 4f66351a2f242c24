"""Laws of every cache with drawn pieces of a text, and that a refused call leaves no trace."""

import copy
import itertools
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from course_utils import attention
from tests.laws.annotated import Entry
from tests.laws.entries import CALLS, FIXED
from tests.laws.refusal import WRONG, reshaped
from tests.laws.test_public_functions import DTYPES, few, spread_out

H, H_KV, D, MOST = 4, 2, 4, 12
CACHES = {
    "plain": lambda batch, dtype: attention.KVCache(batch, H_KV, MOST, D, dtype=dtype),
    "rolling": lambda batch, dtype: attention.RollingCache(
        batch, H_KV, D, window=3, num_sinks=1, dtype=dtype
    ),
    "paged": lambda batch, dtype: attention.PagedCache(
        attention.BlockPool(batch * 6, 2, H_KV, D, dtype=dtype), batch
    ),
    "quantized": lambda batch, dtype: attention.QuantizedCache(batch, H_KV, MOST, D, dtype=dtype),
}
CHANGES = [
    entry
    for entry in CALLS
    if re.match(r"(KV|Rolling|Paged|Quantized)Cache\.|BlockPool\.", entry.name)
    and not entry.name.endswith((".release", ".read"))
]
each_cache = pytest.mark.parametrize("kind", CACHES)
pieces = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def state(owner: object) -> dict[str, object]:
    """Return a copy of all that an object holds, and what its pool holds."""
    held = dict(vars(owner))
    pool = held.pop("pool", None)
    return copy.deepcopy(held | ({} if pool is None else {"in the pool": dict(vars(pool))}))


def same(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}.get(one.itemsize, torch.uint8)
        one, other = (
            x.contiguous().view(bits) if x.is_floating_point() else x for x in (one, other)
        )
        return one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def drawn(batch: int, length: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    g = torch.Generator().manual_seed(1)
    query, key, value = (
        torch.randn(batch, heads, length, D, generator=g, dtype=torch.float64).to(dtype)
        for heads in (H, H_KV, H_KV)
    )
    return query, key, value


def read(cache, split: list[int], *given: Tensor) -> Tensor:
    out = []
    for query, key, value in zip(*(x.split(split, dim=2) for x in given), strict=True):
        cache.append(key, value)
        out.append(cache.attend(query))
    return torch.cat(out, dim=2)


@pytest.mark.thorough
@each_cache
@few
@given(st.integers(1, 3), pieces, pieces)
def test_how_a_text_is_cut_does_not_matter(
    kind: str, batch: int, split: list[int], other: list[int]
) -> None:
    length = min(sum(split), sum(other))
    given = drawn(batch, length)
    cuts = []
    for one in (split, other):
        ends = [end for end in itertools.accumulate(one) if end < length]
        cuts.append([b - a for a, b in itertools.pairwise([0, *ends, length])])
    results = [read(CACHES[kind](batch, torch.float64), cut, *given) for cut in cuts]
    torch.testing.assert_close(*results)


@pytest.mark.thorough
@each_cache
@few
@given(st.integers(1, 3), pieces, st.sampled_from(DTYPES))
def test_layout_does_not_matter_inputs_stay_and_the_dtype_too(
    kind: str, batch: int, split: list[int], dtype: torch.dtype
) -> None:
    given = drawn(batch, sum(split), dtype)
    kept = [x.clone() for x in given]
    plain = read(CACHES[kind](batch, dtype), split, *given)
    spread = read(CACHES[kind](batch, dtype), split, *map(spread_out, given))
    assert plain.dtype == dtype
    torch.testing.assert_close(spread, plain)
    assert all(map(torch.equal, given, kept))


@pytest.mark.thorough
@each_cache
@few
@given(st.integers(2, 3), pieces)
def test_each_sequence_of_a_batch_is_read_as_it_is_alone(
    kind: str, batch: int, split: list[int]
) -> None:
    given = drawn(batch, sum(split))
    together = read(CACHES[kind](batch, torch.float64), split, *given)
    alone = read(CACHES[kind](1, torch.float64), split, *(x[-1:] for x in given))
    torch.testing.assert_close(alone, together[-1:])


@each_cache
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["query", "key", "value"])
def test_what_is_no_number_stays_in_its_sequence(kind: str, bad: float, which: int) -> None:
    clean = read(CACHES[kind](2, torch.float64), [3, 1, 2], *drawn(2, 6))
    given = [x.clone() for x in drawn(2, 6)]
    given[which][0, 0, 3, 0] = bad
    spoilt = read(CACHES[kind](2, torch.float64), [3, 1, 2], *given)
    torch.testing.assert_close(spoilt[1], clean[1])
    torch.testing.assert_close(spoilt[:, :, :3], clean[:, :, :3])  # and what was read before


@each_cache
def test_no_sequence_and_no_token_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        CACHES[kind](0, torch.float64)
    cache = CACHES[kind](2, torch.float64)
    before = state(cache)
    for query, key, value in (drawn(2, 0), drawn(0, 2)):
        for refused, arguments in (
            (cache.append, {"key": key, "value": value}),
            (cache.attend, {"query": query}),
        ):
            with pytest.raises(ValueError, match=r"must|needs"):
                refused(**arguments)
            assert same(state(cache), before)


@pytest.mark.parametrize("entry", CHANGES, ids=lambda entry: entry.name)
def test_a_refused_call_leaves_everything_as_it_was(entry: Entry) -> None:
    for name in entry.names:
        made = entry.arguments(FIXED).get(name)
        for wrong in (*WRONG, *reshaped(made)):
            given = entry.arguments(FIXED)
            before = state(given["self"])
            try:
                entry.function(**given | {name: wrong})
            except (TypeError, ValueError):
                message = f"{name} = {wrong!r} was refused and left a trace"
                assert same(state(given["self"]), before), message


def test_a_pool_hands_no_block_out_twice_and_takes_none_back_twice() -> None:
    pool = attention.BlockPool(4, 2, H_KV, D)
    held = pool.take(3)
    pool.share(held[:1])
    before = state(pool)
    for wrong in ([3], held[1:2] * 2, [*held, *held], [-1], [4]):
        with pytest.raises(ValueError, match=r"must be one that is held|users to lose"):
            pool.release(wrong)
        assert same(state(pool), before)
    pool.release(held)
    assert pool.num_free == 3
    assert not set(pool.take(3)) & set(held[:1])


@pytest.mark.parametrize("kind", sorted(CACHES.keys() - {"rolling"}))
def test_a_full_cache_stays_as_it_was(kind: str) -> None:
    cache = CACHES[kind](2, torch.float64)
    read(cache, [7, 4], *drawn(2, 11))
    before = state(cache)
    _, key, value = drawn(2, 2)
    with pytest.raises(ValueError, match=r"has room|free blocks"):
        cache.append(key, value)
    assert same(state(cache), before)
