"""A cache returns what was put in, each key with its own position."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import BlockPool, KVCache, PagedCache, QuantizedCache, RollingCache

B, H, H_KV, D, LENGTH = 2, 4, 2, 6, 13
KEY, VALUE = torch.randn(2, B, H_KV, LENGTH, D, generator=torch.Generator().manual_seed(0)).double()
F64 = {"dtype": torch.float64}
CACHES: dict[str, Callable[[], object]] = {
    "plain": lambda: KVCache(B, H_KV, 20, D, **F64),
    "rolling": lambda: RollingCache(B, H_KV, D, window=4, num_sinks=1, **F64),
    "rolling, wide": lambda: RollingCache(B, H_KV, D, window=40, **F64),
    "paged": lambda: PagedCache(BlockPool(20, 3, H_KV, D, **F64), B),
    "quantized": lambda: QuantizedCache(B, H_KV, 20, D, **F64),
}


def taken(source: Tensor, places: Tensor) -> Tensor:
    return source[:, :, places]


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("pieces", [(13,), (5, 1, 7), (1,) * 13, (12, 1), (3, 1, 1)], ids=str)
def test_attention_over_what_is_read_is_the_cache_s_own(kind, pieces) -> None:
    cache, start = CACHES[kind](), 0
    room = {"rtol": 0.0, "atol": 0.02} if kind == "quantized" else {}
    for size in pieces:
        end = start + size
        cache.append(KEY[:, :, start:end], VALUE[:, :, start:end])
        key, value, places = cache.read()
        torch.testing.assert_close(key, taken(KEY, places), **room)
        torch.testing.assert_close(value, taken(VALUE, places), **room)
        assert len(places.unique()) == len(places)
        query = torch.randn(B, H, size, D, dtype=torch.float64)
        behind = torch.arange(start, end).unsqueeze(-1) - places
        seen = behind >= 0
        if kind == "rolling":
            seen &= (behind < 4) | (places < 1)
        found = F.scaled_dot_product_attention(query, key, value, seen, enable_gqa=True)
        torch.testing.assert_close(found, cache.attend(query))
        start = end


@pytest.mark.parametrize("kind", CACHES)
def test_an_empty_cache_hands_out_nothing(kind) -> None:
    key, value, places = CACHES[kind]().read()
    assert key.shape == value.shape == (B, H_KV, 0, D)
    assert places.shape == (0,)


def test_what_was_cropped_is_not_read() -> None:
    for kind in ("plain", "rolling, wide", "paged"):
        cache = CACHES[kind]()
        cache.append(KEY, VALUE)
        cache.crop(5)
        key, value, places = cache.read()
        assert sorted(places.tolist()) == list(range(5))
        assert torch.equal(key, taken(KEY, places))
        assert torch.equal(value, taken(VALUE, places))
