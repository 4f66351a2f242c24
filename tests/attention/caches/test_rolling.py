import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import (
    RollingCache,
    rolling_cache_positions,
    sliding_window_attention,
    window_mask,
)
from course_utils.measure import largest_tensor
from tests.attention.caches.support import SINKS, WINDOW, B, D, new_cache, qkv, read, same, state


def test_positions_are_those_that_a_list_would_still_hold() -> None:
    for window in range(6):
        for num_sinks in range(5):
            held: list[int] = []
            for seen in range(15):
                assert rolling_cache_positions(seen, window, num_sinks) == held
                held.append(seen)
                if len(held) > window + num_sinks:
                    held.pop(num_sinks)


def test_the_slots_hold_the_listed_positions_at_every_length() -> None:
    cache = new_cache("rolling")
    for position in range(20):
        token = torch.full((B, 3, 1, D), float(position), dtype=torch.float64)
        cache.append(token, -token)
        held = rolling_cache_positions(position + 1, WINDOW, SINKS)
        filled = cache.key[0, 0, : len(held), 0].tolist()
        assert sorted(filled) == held
        assert torch.equal(cache.value[:, :, : len(held)], -cache.key[:, :, : len(held)])


def test_without_sinks_it_is_the_sliding_window_of_chapter_08() -> None:
    given = qkv(3, 3, 200)
    cache = RollingCache(B, 3, D, window=7, dtype=torch.float64)
    got = read(cache, (150, 1, 49), *given)
    torch.testing.assert_close(got, sliding_window_attention(*given, 7))


def test_with_sinks_it_is_attention_under_their_mask() -> None:
    query, key, value = qkv(6, 3, 150)
    cache = RollingCache(B, 3, D, window=9, num_sinks=4, dtype=torch.float64)
    row = torch.arange(150).unsqueeze(-1)
    mask = window_mask(150, 150, 9) | ((torch.arange(150) < 4) & (torch.arange(150) <= row))
    want = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    torch.testing.assert_close(read(cache, (150,), query, key, value), want)


def test_its_memory_does_not_grow_with_the_text() -> None:
    cache = RollingCache(1, 1, 4, window=8, num_sinks=2)
    small, token = cache.num_bytes, torch.ones(1, 1, 1, 4)
    for _ in range(100):
        cache.append(token, token)
    assert cache.length == 100
    assert cache.num_bytes == small == 2 * 10 * 4 * 4


def test_a_prompt_costs_its_length_times_the_window() -> None:
    sizes = []
    for length in (512, 2048):
        cache, x = RollingCache(1, 1, 4, window=32), torch.randn(1, 1, length, 4)
        cache.append(x, x)
        sizes.append(largest_tensor(cache.attend, x))
    assert sizes[1] < 5 * sizes[0]  # a table of L × L would be 16 times as large


def test_a_query_stands_at_tokens_of_the_last_append() -> None:
    query, key, value = qkv(length=6)
    cache = new_cache("rolling")
    cache.append(key[:, :, :5], value[:, :, :5])
    cache.append(key[:, :, 5:], value[:, :, 5:])
    before = state(cache)
    with pytest.raises(ValueError, match=r"query must have from 1 to 1 tokens, got 2"):
        cache.attend(query[:, :, -2:])
    assert same(state(cache), before)
