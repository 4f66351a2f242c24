"""The laws that hold for every cache: what it gives, and that a refused call leaves no trace."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_utils import attention
from tests.attention.caches.support import (
    H_KV,
    KINDS,
    LENGTH,
    SINKS,
    SPLITS,
    WINDOW,
    B,
    D,
    new_cache,
    qkv,
    read,
    same,
    state,
    without_cache,
)
from tests.laws.annotated import Entry
from tests.laws.entries import CALLS, FIXED
from tests.laws.refusal import WRONG, reshaped
from tests.laws.test_public_functions import DTYPES, few, spread_out

CHANGES = [
    entry
    for entry in CALLS
    if re.match(r"(KV|Rolling|Paged|Quantized)Cache\.|BlockPool\.", entry.name)
    and not entry.name.endswith((".release", ".read"))
]
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("heads", [(6, 3), (4, 4), (5, 1)], ids=str)
def test_any_split_of_a_text_gives_what_no_cache_gives(kind, split, heads) -> None:
    made = qkv(*heads)
    got = read(new_cache(kind, heads[1]), split, *made)
    torch.testing.assert_close(got, without_cache(kind, *made))


@each_kind
def test_a_shorter_query_stands_at_the_last_of_the_appended_tokens(kind) -> None:
    query, key, value = qkv()
    cache = new_cache(kind)
    cache.append(key[:, :, :9], value[:, :, :9])
    cache.append(key[:, :, 9:20], value[:, :, 9:20])
    want = without_cache(kind, query, key, value)
    for last in (1, 2, 11):
        got = cache.attend(query[:, :, 20 - last : 20])
        torch.testing.assert_close(got, want[:, :, 20 - last : 20])


@each_kind
def test_length_counts_all_tokens_and_bytes_are_counted(kind) -> None:
    cache = new_cache(kind)
    assert cache.length == 0
    _, key, value = qkv()
    cache.append(key[:, :, :8], value[:, :, :8])
    assert cache.length == 8
    assert cache.num_bytes > 0


@each_kind
@pytest.mark.parametrize("back", [0, 1, SINKS, 6, 7])
def test_what_is_cropped_is_as_if_it_had_never_come(kind, back) -> None:
    query, key, value = qkv()
    cache = new_cache(kind)
    for part in (slice(0, back), slice(LENGTH + back - SINKS - WINDOW, LENGTH)):
        if key[:, :, part].numel():
            cache.append(key[:, :, part], value[:, :, part])
    cache.crop(back)
    assert cache.length == back
    cache.append(key[:, :, back:], value[:, :, back:])
    want = without_cache(kind, query, key, value)
    torch.testing.assert_close(cache.attend(query[:, :, back:]), want[:, :, back:])


@each_kind
def test_a_length_cannot_be_set_nor_cropped_to_what_is_not_held(kind) -> None:
    _, key, value = qkv()
    cache = new_cache(kind)
    cache.append(key, value)
    before = state(cache)
    with pytest.raises(AttributeError):
        cache.length = 4
    for length, error in ((LENGTH + 1, ValueError), (-1, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match="length must"):
            cache.crop(length)
    if kind == "rolling":
        with pytest.raises(ValueError, match="got 20: position 15 was displaced"):
            cache.crop(20)
    assert same(state(cache), before)


def test_cropped_blocks_are_free_again() -> None:
    cache = new_cache("paged")
    _, key, value = qkv()
    cache.append(key, value)
    fork = cache.fork()
    cache.crop(5)
    fork.release()
    assert cache.pool.num_free == len(cache.pool.num_users) - 2 * B


@each_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_dtype_stays(kind, dtype) -> None:
    query, key, value = (x.to(dtype) for x in qkv())
    cache = new_cache(kind, dtype=dtype)
    got = read(cache, (9, 1, 13), query, key, value)
    assert got.dtype == dtype
    room = {"atol": 2e-5, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 0.05, "rtol": 0.05}
    want = without_cache(kind, *(x.double() for x in (query, key, value)))
    torch.testing.assert_close(got.double(), want, **room)


@each_kind
def test_the_cache_keeps_no_graph_and_no_input(kind) -> None:
    query, key, value = (x.requires_grad_() for x in qkv())
    cache = new_cache(kind)
    cache.append(key[:, :, :6], value[:, :, :6])
    out = cache.attend(query[:, :, :6])
    kept = [x for x in state_tensors(cache) if x.requires_grad]
    assert not kept
    (slope,) = torch.autograd.grad(out.sum(), query)
    assert slope.any()


def state_tensors(cache) -> list[torch.Tensor]:
    held = state(cache).values()
    flat = [part for entry in held for part in (entry if isinstance(entry, tuple) else (entry,))]
    return [part for part in flat if isinstance(part, torch.Tensor)]


@each_kind
def test_what_the_caller_does_with_its_tensors_later_is_not_seen(kind) -> None:
    query, key, value = qkv(length=4)
    cache = new_cache(kind)
    cache.append(key, value)
    before = cache.attend(query)
    key.zero_(), value.zero_()
    assert torch.equal(cache.attend(query), before)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rolling"])
@pytest.mark.parametrize("held", [0, 20, LENGTH])
def test_an_overflow_is_refused_and_an_exact_fill_is_not(kind, held) -> None:
    _, key, value = qkv(length=LENGTH + 5)
    cache = new_cache(kind)
    if held:
        cache.append(key[:, :, :held], value[:, :, :held])
    before, over = state(cache), slice(held, LENGTH + 2)
    with pytest.raises(ValueError, match=r"room for 23 tokens, got|must have .* free blocks, got"):
        cache.append(key[:, :, over], value[:, :, over])
    assert same(state(cache), before)
    if held < LENGTH:
        cache.append(key[:, :, held:LENGTH], value[:, :, held:LENGTH])
    assert cache.length == LENGTH


@each_kind
def test_an_empty_cache_has_nothing_to_attend_to(kind) -> None:
    with pytest.raises(ValueError, match="query must have"):
        new_cache(kind).attend(qkv(length=1)[0])


@pytest.mark.thorough
@each_kind
@few
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.sampled_from(DTYPES))
def test_layout_does_not_matter_inputs_stay_and_the_dtype_too(kind, split, dtype) -> None:
    made = [x[:, :, : sum(split)].to(dtype) for x in qkv()]
    kept = [x.clone() for x in made]
    plain = read(new_cache(kind, dtype=dtype), split, *made)
    spread = read(new_cache(kind, dtype=dtype), split, *map(spread_out, made))
    assert plain.dtype == dtype
    torch.testing.assert_close(spread, plain)
    assert all(map(torch.equal, made, kept))


@each_kind
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["query", "key", "value"])
def test_what_is_no_number_stays_in_its_sequence(kind, bad, which) -> None:
    clean = read(new_cache(kind), (3, 1, 19), *qkv())
    made = qkv()
    made[which][0, 0, 3, 0] = bad
    spoilt = read(new_cache(kind), (3, 1, 19), *made)
    torch.testing.assert_close(spoilt[1], clean[1])
    torch.testing.assert_close(spoilt[:, :, :3], clean[:, :, :3])  # and what was read before


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
