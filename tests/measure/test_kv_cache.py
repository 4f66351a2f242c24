import pytest
import torch

from course_utils.measure import cache_fits, kv_cache_bytes


def test_agrees_with_tensors_that_are_really_kept() -> None:
    layers, heads, d_k, tokens, batch = 3, 2, 5, 7, 4
    for dtype in (torch.float16, torch.float32, torch.float64):
        shape = (batch, heads, tokens, d_k)
        kept = [torch.zeros(shape, dtype=dtype) for _ in range(2 * layers)]
        want = sum(tensor.nbytes for tensor in kept)
        assert kv_cache_bytes(layers, heads, d_k, tokens, batch, dtype.itemsize) == want


def test_no_token_takes_no_byte() -> None:
    assert kv_cache_bytes(2, 3, 4, 0, 1, 2) == 0


@pytest.mark.parametrize("gib", [0, 0.001, 0.5, 1, 2.75, 16, 640])
@pytest.mark.parametrize("sizes", [(5, 7, 96, 2, 3), (4, 8, 64, 2, 2), (61, 64, 128, 1, 16)])
def test_what_fits_does_and_one_token_more_does_not(gib, sizes) -> None:
    layers, heads, d_k, size, batch = sizes
    tokens = cache_fits(gib, *sizes)
    assert kv_cache_bytes(layers, heads, d_k, tokens, batch, size) <= gib * 2**30
    assert kv_cache_bytes(layers, heads, d_k, tokens + 1, batch, size) > gib * 2**30


def test_an_exact_fill_counts() -> None:
    assert cache_fits(1, 32, 32, 128, 2, 1) == 2048


@pytest.mark.parametrize(
    ("gib", "sizes", "message"),
    [
        (-0.5, (1, 1, 1, 1, 1), "gib must be at least 0 and finite, got -0.5"),
        (float("nan"), (1, 1, 1, 1, 1), "gib must be at least 0 and finite, got nan"),
    ],
)
def test_memory_that_cannot_be_is_refused(gib, sizes, message) -> None:
    with pytest.raises(ValueError, match=message):
        cache_fits(gib, *sizes)
