import math

import pytest
import torch

from course_utils.distributed import SentBytes, communication_bytes
from course_utils.distributed.volume import _handed_over

# batch 1, n 64, d_k 8, float64: scheme, ranks, heads, forward, backward
KNOWN = [
    ("ring", 2, 2, 8_192, 24_576),
    ("ring", 4, 2, 12_288, 28_672),
    ("ulysses", 2, 4, 16_384, 16_384),
    ("ulysses", 4, 4, 12_288, 12_288),
    ("tensor", 2, 4, 16_384, 16_384),
    ("tensor", 4, 4, 24_576, 24_576),
]


@pytest.mark.parametrize(("scheme", "world_size", "heads", "forward", "backward"), KNOWN)
def test_bytes_of_a_layer_that_can_be_counted_by_hand(
    scheme, world_size, heads, forward, backward
) -> None:
    sizes = (scheme, world_size, 1, 64, heads, heads, 8, 8)
    assert communication_bytes(*sizes) == forward
    assert communication_bytes(*sizes, backward=True) == backward


def messages(scheme: str, P: int, batch: int, n: int, heads: int, kv_heads: int, d: int) -> list:
    """Return the shape of each message that one rank sends in a forward pass."""
    if scheme == "ring":
        return 2 * (P - 1) * [(batch, kv_heads, n // P, d)]
    if scheme == "ulysses":
        each = [(batch, h // P, n // P, d) for h in (heads, kv_heads, kv_heads, heads)]
        return (P - 1) * each
    return 2 * (P - 1) * [(batch, n, heads * d // P)]


@pytest.mark.parametrize("scheme", ["ring", "ulysses", "tensor"])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_bytes_are_those_of_all_messages(scheme, world_size) -> None:
    shapes = messages(scheme, world_size, 5, 6, 12, 6, 7)
    sent = communication_bytes(scheme, world_size, 5, 6, 12, 6, 7, 2)
    assert sent == 2 * sum(map(math.prod, shapes))


def test_gradients_of_keys_and_values_travel_home_in_p_rotations() -> None:
    sizes = (4, 2, 24, 6, 3, 5, 4)
    block = 2 * 2 * 3 * (24 // 4) * 5 * 4
    assert communication_bytes("ring", *sizes) == 3 * block
    assert communication_bytes("ring", *sizes, backward=True) == (3 + 4) * block
    assert communication_bytes("ring", 1, *sizes[1:], backward=True) == 0


@pytest.mark.parametrize("kv_heads", [1, 2, 4, 8])
def test_the_ring_sends_least_below_one_plus_the_heads_that_share_a_key(kv_heads) -> None:
    heads, group = 8, 8 // kv_heads
    for world_size in (2, 4, 8):
        if kv_heads % world_size:
            continue
        ring, ulysses = (
            communication_bytes(scheme, world_size, 1, 64, heads, kv_heads, 8, 2)
            for scheme in ("ring", "ulysses")
        )
        assert (ring < ulysses) == (world_size < 1 + group)
        assert (ring == ulysses) == (world_size == 1 + group)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match='must be "ring", "ulysses" or "tensor", got \'star\''):
        communication_bytes("star", 2, 1, 64, 4, 4, 8, 2)
    with pytest.raises(TypeError, match="scheme must be a str, got NoneType"):
        communication_bytes(None, 2, 1, 64, 4, 4, 8, 2)
    with pytest.raises(ValueError, match="3 ranks must divide the tokens, got 64"):
        communication_bytes("ring", 3, 1, 64, 4, 4, 8, 2)
    with pytest.raises(ValueError, match="4 ranks must divide the query heads, got 6"):
        communication_bytes("tensor", 4, 1, 64, 6, 2, 8, 2)
    with pytest.raises(ValueError, match="4 ranks must divide the key/value heads, got 2"):
        communication_bytes("ulysses", 4, 1, 64, 8, 2, 8, 2)
    with pytest.raises(ValueError, match="world_size must be at least 1, got 0"):
        communication_bytes("ring", 0, 1, 64, 4, 4, 8, 2)
    assert communication_bytes("ring", 4, 1, 64, 6, 1, 8, 2) > 0  # heads are whole in every rank


def test_the_counter_knows_what_it_cannot_count() -> None:
    with pytest.raises(ValueError, match="sends and all-to-alls can be counted, got allreduce"):
        _handed_over("allreduce_", ([torch.zeros(3)],))
    with SentBytes() as counter:
        torch.zeros(3) + torch.ones(3)
    assert counter.total == 0
