"""The Triton kernels, interpreted on a CPU, beside SDPA, flash-attn's rules and FlexAttention."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import flex_attention

from course_utils.attention.tiled.flash.flash import flash_attention
from course_utils.attention.tiled.flash.spans import count_tiles, visible_spans
from tests.peers.peer_support import BATCH, flash_attn, results, sdpa
from tests.support import draw

REFERENCE = pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "flash-attn's `attention_ref`, from its rules",
    "float32 1e-5", "outputs, gradients",
)  # fmt: skip

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")

HEADS, KV_HEADS, D_K, D_V = 4, 2, 16, 24
LENGTHS = [(1, 70), (65, 64), (70, 35), (33, 90)]  # tiles have 64 rows
WINDOWS = [(-1, -1), (20, 0), (11, 7), (-1, 5), (0, 40)]
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def agree(
    lengths: tuple[int, int], dtype: torch.dtype, room: float, theirs: Callable[..., Tensor],
    **options: Any,
) -> None:  # fmt: skip
    """Compare outputs and gradients with those of the same inputs in float64."""
    sizes = ((HEADS, lengths[0], D_K), (KV_HEADS, lengths[1], D_K), (KV_HEADS, lengths[1], D_V))
    given = [draw(BATCH, *size, seed=i).to(dtype) for i, size in enumerate(sizes)]
    exact = tuple(x.double().requires_grad_() for x in given)
    rounded = tuple(x.requires_grad_() for x in given)
    want = results(theirs, exact, exact)
    got = results(lambda *x: flash_attention(*x, **options).double(), rounded, rounded)
    got, want = ([x.to(dtype) for x in found] for found in (got, want))
    torch.testing.assert_close(got, want, rtol=room, atol=room)


def agree_with_sdpa(
    lengths: tuple[int, int], dtype: torch.dtype, room: float, is_causal: bool
) -> None:
    def theirs(*qkv: Tensor) -> Tensor:
        return sdpa(*qkv, is_causal=is_causal, enable_gqa=True)

    agree(lengths, dtype, room, theirs, is_causal=is_causal)


def agree_with_flash_attn(
    lengths: tuple[int, int], dtype: torch.dtype, room: float, causal: bool,
    window: tuple[int, int], cap: float = 0.0, slopes: Tensor | None = None,
) -> None:  # fmt: skip
    def theirs(*qkv: Tensor) -> Tensor:
        return flash_attn(*qkv, causal, window, cap, slopes if slopes is None else slopes.double())

    agree(
        lengths, dtype, room, theirs, is_causal=causal, offset=lengths[1] - lengths[0],
        window=tuple(None if side < 0 else side for side in window), cap=cap or None, slopes=slopes,
    )  # fmt: skip


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS[:3])
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "SDPA in float64", "float32 1e-5", "outputs, gradients"
)
def test_the_kernels_are_sdpa_in_float32(lengths, is_causal) -> None:
    agree_with_sdpa(lengths, torch.float32, 1e-5, is_causal)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS[:3])
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "SDPA in float64", "float16 2e-3", "outputs, gradients"
)
def test_the_kernels_are_sdpa_in_float16(lengths, is_causal) -> None:
    agree_with_sdpa(lengths, torch.float16, 2e-3, is_causal)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("lengths", LENGTHS)
@REFERENCE
def test_windows_and_causality_are_aligned_bottom_right(lengths, window, causal) -> None:
    agree_with_flash_attn(lengths, torch.float32, 1e-5, causal, window)


@pytest.mark.parametrize("window", [(-1, -1), (20, 0)])
@pytest.mark.parametrize("softcap", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("slopes", [None, SLOPES], ids=["plain", "alibi"])
@pytest.mark.parametrize("lengths", LENGTHS[1::2])
@REFERENCE
def test_caps_and_slopes_combine_with_windows(lengths, slopes, softcap, window) -> None:
    agree_with_flash_attn(lengths, torch.float32, 1e-5, True, window, softcap, slopes)


@pytest.mark.parametrize("lengths", LENGTHS[1::2])
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "flash-attn's `attention_ref`, from its rules",
    "float16 2e-3", "outputs, gradients",
)  # fmt: skip
def test_half_precision_is_the_reference_rounded(lengths) -> None:
    agree_with_flash_attn(lengths, torch.float16, 2e-3, True, (20, 0), 50.0, SLOPES)


def documents(lengths: Tensor) -> Tensor:
    return torch.arange(len(lengths)).repeat_interleave(lengths)


PACKED = torch.tensor([30, 1, 62, 0, 35])
RULES = {
    "causal": (lambda i, j: i >= j, {"is_causal": True}),
    "window": (lambda i, j: (i >= j) & (i - j <= 20), {"is_causal": True, "window": (20, None)}),
    "both sides": (lambda i, j: (i - j).abs() <= 9, {"window": (9, 9)}),
    "documents": (
        lambda i, j: (documents(PACKED)[i] == documents(PACKED)[j]) & (i >= j),
        {"is_causal": True, "lengths": PACKED},
    ),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cap", [None, 3.0])
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "FlexAttention, not compiled", "float32 1e-5", "outputs"
)
def test_masks_and_mods_are_those_of_flex_attention(rule, cap) -> None:
    seen, options = RULES[rule]
    query, key, value = (
        draw(1, heads, 128, width, seed=heads + width).float()
        for heads, width in ((HEADS, D_K), (KV_HEADS, D_K), (KV_HEADS, D_V))
    )

    def score_mod(score, batch, head, i, j):
        capped = score if cap is None else cap * torch.tanh(score / cap)
        return capped - SLOPES[head] * (i - j).abs()

    blocks = flex_attention.create_block_mask(
        lambda b, h, i, j: seen(i, j), None, None, 128, 128, device="cpu"
    )
    want = flex_attention.flex_attention(query, key, value, score_mod, blocks, enable_gqa=True)
    got = flash_attention(query, key, value, **options, cap=cap, slopes=SLOPES)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [(16, 16), (32, 16), (16, 64)])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.peer(
    "09", "`count_tiles`", "FlexAttention's `create_block_mask`", "equal",
    "tiles visited, tiles cut",
)  # fmt: skip
def test_as_many_tiles_are_visited_as_in_flex_attention(rule, size) -> None:
    seen, options = RULES[rule]
    blocks = flex_attention.create_block_mask(
        lambda b, h, i, j: seen(i, j), None, None, 128, 128, device="cpu", BLOCK_SIZE=size
    )
    partial, full = (int(x.sum()) for x in (blocks.kv_num_blocks, blocks.full_kv_num_blocks))
    visited, cut, _ = count_tiles(visible_spans(128, 128, **options), *size)
    assert (cut, visited - cut) == (partial, full)
