"""The laws that hold for every cache, whatever it keeps and how."""

import pytest
import torch

from tests.attention.caches.support import (
    H_KV,
    KINDS,
    LENGTH,
    SINKS,
    SPLITS,
    WINDOW,
    B,
    D,
    H,
    new_cache,
    qkv,
    read,
    same,
    state,
    without_cache,
)

each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("heads", [(6, 3), (4, 4), (5, 1)], ids=str)
def test_any_split_of_a_text_gives_what_no_cache_gives(kind, split, heads) -> None:
    given = qkv(*heads)
    got = read(new_cache(kind, heads[1]), split, *given)
    torch.testing.assert_close(got, without_cache(kind, *given))


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


def tokens(heads: int = H_KV, length: int = 3, batch: int = B, width: int = D) -> torch.Tensor:
    return torch.ones(batch, heads, length, width, dtype=torch.float64)


BAD_APPENDS = [
    (tokens(), tokens().float(), TypeError, "value must have the cache's dtype"),
    (tokens().int(), tokens(), TypeError, "key must have the cache's dtype torch.float64, got"),
    (None, tokens(), TypeError, "key must be a torch.Tensor, got NoneType"),
    (tokens(H), tokens(), ValueError, r"key must have the shape \(2, 3, T, 5\) of the cache"),
    (tokens(), tokens(1), ValueError, r"value must have the shape .* got \(2, 1, 3, 5\)"),
    (tokens(batch=1), tokens(), ValueError, "key must have the shape"),
    (tokens(), tokens(width=4), ValueError, "value must have the shape"),
    (tokens(), tokens(length=2), ValueError, "the same number of tokens, .* got 3 and 2"),
    (tokens(length=0), tokens(length=0), ValueError, "number of tokens, at least one"),
    (tokens()[0], tokens(), ValueError, "key must have the shape .* of the cache"),
]


@each_kind
@pytest.mark.parametrize(("key", "value", "error", "message"), BAD_APPENDS)
def test_tokens_that_do_not_fit_leave_the_cache_as_it_was(kind, key, value, error, message) -> None:
    cache = new_cache(kind)
    cache.append(*qkv(length=6)[1:])
    before = state(cache)
    with pytest.raises(error, match=message):
        cache.append(key, value)
    assert same(state(cache), before)


BAD_QUERIES = [
    (tokens(H).float(), TypeError, "query must have the cache's dtype"),
    (tokens(4), ValueError, "must divide the query heads, got 3 for 4"),
    (tokens(0), ValueError, "must divide the query heads, got 3 for 0"),
    (tokens(H, width=4), ValueError, r"query must have the shape \(2, H, T, 5\)"),
    (tokens(H, batch=3), ValueError, "query must have the shape"),
    (tokens(H, length=7), ValueError, "query must have from 1 to 6 tokens, got 7"),
    (tokens(H, length=0), ValueError, "query must have from 1 to 6 tokens, got 0"),
    (tokens(H)[0], ValueError, "query must have the shape"),
]


@each_kind
@pytest.mark.parametrize(("query", "error", "message"), BAD_QUERIES)
def test_queries_that_do_not_fit_leave_the_cache_as_it_was(kind, query, error, message) -> None:
    cache = new_cache(kind)
    cache.append(*qkv(length=6)[1:])
    before = state(cache)
    with pytest.raises(error, match=message):
        cache.attend(query)
    assert same(state(cache), before)


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
        new_cache(kind).attend(tokens(H, length=1))


@each_kind
@pytest.mark.parametrize(
    ("heads", "batch", "dtype", "error"),
    [
        (0, 1, torch.float32, ValueError),
        (-1, 1, torch.float32, ValueError),
        (2, 0, torch.float32, ValueError),
        (2.0, 1, torch.float32, TypeError),
        (2, 1, torch.int8, TypeError),
        (2, 1, "float32", TypeError),
    ],
)
def test_a_cache_that_cannot_be_is_refused(kind, heads, batch, dtype, error) -> None:
    with pytest.raises(error, match="must be"):
        new_cache(kind, heads, batch, dtype)
