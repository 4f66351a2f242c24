import copy

import pytest
import torch

from course_utils.attention import (
    BlockPool,
    KVCache,
    PagedCache,
    QuantizedCache,
    RollingCache,
)
from course_utils.models import ModelCache
from tests.models.small_gpt import D_K, KINDS, LAYERS, LENGTH, SPLITS, B, draw, read, small


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_every_exact_cache_serves_the_model(split) -> None:
    model, tokens = small(num_kv_heads=2, positions="rope"), draw(B, LENGTH)
    pool = BlockPool(LAYERS * B * 5, 4, 2, D_K, dtype=torch.float64)
    caches = {
        "KVCache": [KVCache(B, 2, LENGTH, D_K, dtype=torch.float64) for _ in range(LAYERS)],
        "PagedCache": [PagedCache(pool, B) for _ in range(LAYERS)],
        "RollingCache": [
            RollingCache(B, 2, D_K, window=LENGTH, dtype=torch.float64) for _ in range(LAYERS)
        ],
    }
    for layers in caches.values():
        cache = ModelCache(layers)
        torch.testing.assert_close(read(model, tokens, split, cache), model.logits(tokens))
        assert cache.length == LENGTH
        assert cache.num_bytes == sum(layer.num_bytes for layer in layers)


def test_pieces_do_not_matter_to_a_rolling_or_a_rounded_cache_either() -> None:
    model, tokens = small(positions="rope"), draw(B, LENGTH)
    makers = [
        lambda: RollingCache(B, 4, D_K, window=5, num_sinks=2, dtype=torch.float64),
        lambda: QuantizedCache(B, 4, LENGTH, D_K, dtype=torch.float64),
    ]
    for make in makers:
        whole, *pieces = (
            read(model, tokens, split, ModelCache([make() for _ in range(LAYERS)]))
            for split in SPLITS
        )
        for other in pieces:
            torch.testing.assert_close(other, whole)
        assert not torch.allclose(whole, model.logits(tokens))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_on_the_left_changes_nothing(kind) -> None:
    model, tokens = small(**KINDS[kind]), draw(B, 9)
    first = torch.tensor([0, 4])
    cache = model.new_cache(B, first=first)
    together = read(model, tokens, (5, 1, 3), cache)
    torch.testing.assert_close(together[:1], model.logits(tokens[:1]))
    torch.testing.assert_close(together[1:, 4:], model.logits(tokens[1:, 4:]))
    torch.testing.assert_close(model.logits(tokens, first)[1:, 4:], together[1:, 4:])


def test_only_two_caches_leave_padding_out() -> None:
    layers = [QuantizedCache(B, 4, LENGTH, D_K) for _ in range(LAYERS)]
    message = "padding needs a KVCache or a RollingCache in every layer, got Quantized"
    with pytest.raises(ValueError, match=message):
        ModelCache(layers, torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="one cache for each layer, got none"):
        ModelCache([])


def test_shared_heads_and_a_window_are_what_the_cache_saves() -> None:
    whole, shared = small().new_cache(B), small(num_kv_heads=1).new_cache(B)
    assert whole.num_bytes == 4 * shared.num_bytes == 2 * LAYERS * B * 4 * LENGTH * D_K * 8
    assert small(window=5).new_cache(B).num_bytes == 2 * LAYERS * B * 4 * 5 * D_K * 8
    assert small().new_cache(B, 7).num_bytes == 2 * LAYERS * B * 4 * 7 * D_K * 8


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_too_many_tokens_are_refused_and_the_cache_is_as_it_was(positions) -> None:
    model = small(positions=positions)
    _, cache = model(draw(B, LENGTH - 2))
    before = copy.deepcopy(cache.layers)
    message = "learned table" if positions == "learned" else f"room for {LENGTH} tokens"
    with pytest.raises(ValueError, match=message):
        model(draw(B, 3), cache)
    for layer, held in zip(cache.layers, before, strict=True):
        assert layer.length == held.length == LENGTH - 2
        assert torch.equal(layer.key, held.key)
        assert torch.equal(layer.value, held.value)
    torch.testing.assert_close(
        model(draw(B, 2), cache)[0], model.logits(torch.cat((draw(B, 17), draw(B, 2)), 1))[:, 17:]
    )
