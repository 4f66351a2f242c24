import pytest
import torch

from course_utils.measure import kv_cache_bytes


def test_agrees_with_tensors_that_are_really_kept() -> None:
    layers, heads, d_k, tokens, batch = 3, 2, 5, 7, 4
    for dtype in (torch.float16, torch.float32, torch.float64):
        shape = (batch, heads, tokens, d_k)
        kept = [torch.zeros(shape, dtype=dtype) for _ in range(2 * layers)]
        want = sum(tensor.nbytes for tensor in kept)
        assert kv_cache_bytes(layers, heads, d_k, tokens, batch, dtype.itemsize) == want


def test_models_of_two_sizes_differ_by_their_heads() -> None:
    """Llama 2 in 16 bits: 32 heads in 32 layers (7B); 8 of 64 in 80 layers (70B)."""
    assert kv_cache_bytes(32, 32, 128, 1, 1, 2) == 512 * 1024
    assert kv_cache_bytes(80, 8, 128, 1, 1, 2) == 320 * 1024


def test_no_token_takes_no_byte() -> None:
    assert kv_cache_bytes(2, 3, 4, 0, 1, 2) == 0


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 1, 1, 1, 1, 1), r"at least 1, got \(0, 1, 1, 1, 1\)"),
        ((1, 1, 1, 1, 1, 0), "at least 1"),
        ((1, 1, 1, -1, 1, 1), "num_tokens must be at least 0, got -1"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes, message) -> None:
    with pytest.raises(ValueError, match=message):
        kv_cache_bytes(*sizes)
