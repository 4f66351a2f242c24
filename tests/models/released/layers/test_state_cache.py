"""A state does not grow, moves with its sequence, and cannot forget single tokens."""

import pytest
import torch

from course_utils.models.released.layers.state_cache import StateCache
from tests.support import draw


def made() -> StateCache:
    cache = StateCache(torch.zeros(2, 3), torch.zeros(2, 4, 5))
    cache.replace((draw(2, 3).requires_grad_(), draw(2, 4, 5)), 7)
    return cache


def test_it_counts_its_tokens_and_holds_what_it_was_given() -> None:
    cache = made()
    assert (cache.length, cache.batch, cache.num_bytes) == (7, 2, 2 * (3 + 20) * 8)
    assert torch.equal(cache.held[1], draw(2, 4, 5))
    assert not cache.held[0].requires_grad


def test_sequences_move() -> None:
    cache, before = made(), made().held
    cache.select(torch.tensor([1, 1, 0]))
    for now, then in zip(cache.held, before, strict=True):
        assert torch.equal(now, then[[1, 1, 0]])


def test_all_tokens_or_none_are_forgotten() -> None:
    cache = made()
    cache.crop(7)
    assert cache.length == 7
    with pytest.raises(ValueError, match="length must be 0 or 7 for a state, got 6"):
        cache.crop(6)
    cache.crop(0)
    assert cache.length == 0
    assert not any(one.any() for one in cache.held)
