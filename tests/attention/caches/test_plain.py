import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import (
    KVCache,
    append_kv,
    causal_mask,
    decode_step,
    grouped_query_attention,
    padding_mask,
)
from course_utils.measure import kv_cache_bytes, largest_tensor
from tests.attention.caches.support import B, D, new_cache, qkv, same, state

H, SLOTS = 3, 9


def caches(fill: float = torch.nan) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.full((2, B, H, SLOTS, D), fill, dtype=torch.float64)
    return made[0], made[1]


def test_append_writes_the_new_slots_and_no_other() -> None:
    _, key, value = qkv(H, H, 4)
    cache_key, cache_value = caches()
    assert append_kv(cache_key, cache_value, 3, key, value) == 7
    for cache, new in ((cache_key, key), (cache_value, value)):
        assert torch.equal(cache[:, :, 3:7], new)
        assert cache[:, :, :3].isnan().all()
        assert cache[:, :, 7:].isnan().all()


def test_append_makes_no_tensor() -> None:
    _, key, value = qkv(H, H, 2)
    assert largest_tensor(append_kv, *caches(), 1, key, value) == 0


@pytest.mark.parametrize(
    ("length", "error", "message"),
    [
        (-1, ValueError, "length must lie between 0 and the 9 slots, got -1"),
        (10, ValueError, "length must lie between 0 and the 9 slots, got 10"),
        (7, ValueError, "the cache has room for 9 tokens, got 3 more after 7"),
    ],
)
def test_an_append_outside_the_cache_is_refused_and_writes_nothing(length, error, message) -> None:
    _, key, value = qkv(H, H, 3)
    cache_key, cache_value = caches(1.0)
    with pytest.raises(error, match=message):
        append_kv(cache_key, cache_value, length, key, value)
    assert (cache_key == 1).all()
    assert (cache_value == 1).all()


@pytest.mark.parametrize("heads", [(3, 3), (6, 3), (4, 1)], ids=str)
@pytest.mark.parametrize(("new", "length"), [(1, 1), (1, 6), (3, 7), (5, 5), (2, SLOTS)])
def test_a_step_is_the_last_rows_of_causal_attention(heads, new, length) -> None:
    query, key, value = qkv(*heads, length)
    slots = [F.pad(x, (0, 0, 0, SLOTS - length), value=torch.nan) for x in (key, value)]
    got = decode_step(query[:, :, length - new :], *slots, length)
    want = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(got, want[:, :, length - new :])


@pytest.mark.parametrize("length", [-1, SLOTS + 1])
def test_a_step_needs_a_length_inside_the_cache(length) -> None:
    query, *_ = qkv(H, H, 1)
    with pytest.raises(ValueError, match=r"length must lie|query must have from 1 to 0 tokens"):
        decode_step(query, *caches(0.0), length)


def test_sequences_of_other_lengths_are_padded_on_the_left_and_never_see_the_padding() -> None:
    query, key, value = qkv(4, 2, 8)
    first = torch.tensor([3, 0])
    cache = KVCache(B, 2, 8, D, dtype=torch.float64)
    got = []
    for rows in (slice(0, 5), slice(5, 7), slice(7, 8)):
        cache.append(key[:, :, rows], value[:, :, rows])
        got.append(cache.attend(query[:, :, rows], first))
    out = torch.cat(got, dim=2)
    assert not out[0, :, :3].any()  # the padding itself may see nothing
    for b, start in enumerate(first.tolist()):
        alone = [x[b : b + 1, :, start:] for x in (query, key, value)]
        length = 8 - start
        want = grouped_query_attention(*alone, causal_mask(length, length))
        torch.testing.assert_close(out[b : b + 1, :, start:], want)


def test_left_padding_is_a_padding_mask_turned_round() -> None:
    query, key, value = qkv(3, 3, 6)
    cache = KVCache(B, 3, 6, D, dtype=torch.float64)
    cache.append(key, value)
    first = torch.tensor([2, 4])
    mask = padding_mask(6 - first, 6).flip(-1)
    want = F.scaled_dot_product_attention(query[:, :, -1:], key, value, mask)
    torch.testing.assert_close(cache.attend(query[:, :, -1:], first), want)


@pytest.mark.parametrize(
    ("first", "error", "message"),
    [
        (torch.tensor([0.0, 1.0]), TypeError, "first must hold integers"),
        (torch.tensor([0, 1, 2]), ValueError, "first must have the shape .2,."),
        (torch.tensor(1), ValueError, r"first must have the axes \(B,\)"),
    ],
)
def test_starts_that_do_not_fit_are_refused(first, error, message) -> None:
    cache = new_cache("plain")
    query, key, value = qkv(length=3)
    cache.append(key, value)
    before = state(cache)
    with pytest.raises(error, match=message):
        cache.attend(query, first)
    assert same(state(cache), before)


def test_keys_are_not_repeated_for_the_heads_of_a_group() -> None:
    query, key = torch.randn(1, 16, 64, 16), torch.randn(1, 2, 64, 16)
    assert largest_tensor(decode_step, query[:, :, -1:], key, key, 64) <= 16 * 64  # the scores
    assert largest_tensor(decode_step, query, key, key, 64) <= query.numel()


def test_the_bytes_are_those_of_the_formula() -> None:
    for dtype in (torch.float16, torch.float32, torch.float64):
        cache = KVCache(3, 2, 7, 5, dtype=dtype)
        assert cache.num_bytes == kv_cache_bytes(1, 2, 5, 7, 3, dtype.itemsize)


def test_a_cache_can_be_made_and_used_in_inference_mode() -> None:
    with torch.inference_mode():
        cache = new_cache("plain")
        query, key, value = qkv(length=2)
        cache.append(key, value)
        assert cache.attend(query).shape == query.shape
