"""The Triton kernels, interpreted on a CPU, beside PyTorch's SDPA in float64."""

import pytest
import torch
from peer_support import BATCH, draw, results, sdpa

from course_utils.attention.flash_triton import flash_attention

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")

HEADS, KV_HEADS, D_K = 4, 2, 16
LENGTHS = [(1, 70), (65, 64), (70, 5)]  # tiles have 64 rows


def agree(lengths: tuple[int, int], is_causal: bool, dtype: torch.dtype, room: float) -> None:
    """Compare outputs and gradients with those of the same inputs in float64."""
    shapes = ((HEADS, lengths[0]), (KV_HEADS, lengths[1]), (KV_HEADS, lengths[1]))
    given = [draw(BATCH, *shape, D_K, seed=i).to(dtype) for i, shape in enumerate(shapes)]
    exact = tuple(x.double().requires_grad_() for x in given)
    rounded = tuple(x.requires_grad_() for x in given)
    want = results(lambda *x: sdpa(*x, is_causal=is_causal, enable_gqa=True), exact, exact)
    got = results(lambda *x: flash_attention(*x, is_causal).double(), rounded, rounded)
    got, want = ([x.to(dtype) for x in found] for found in (got, want))
    torch.testing.assert_close(got, want, rtol=room, atol=room)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "SDPA in float64", "float32 1e-5", "outputs, gradients"
)
def test_the_kernels_are_sdpa_in_float32(lengths, is_causal) -> None:
    agree(lengths, is_causal, torch.float32, 1e-5)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "SDPA in float64", "float16 2e-3", "outputs, gradients"
)
def test_the_kernels_are_sdpa_in_float16(lengths, is_causal) -> None:
    agree(lengths, is_causal, torch.float16, 2e-3)
