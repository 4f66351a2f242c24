"""The kernels' options beside flash-attn's published test reference, and FlexAttention.

`attention_ref` is written here from the rules of flash-attn's `tests/test_flash_attn.py`
(https://github.com/Dao-AILab/flash-attention): layout (B, L, H, d), a window (left, right) in which
-1 is no limit, causality as a window without a right side, everything aligned bottom-right.
"""

import pytest
import torch
from peer_support import draw, results
from torch import Tensor
from torch.nn.attention import flex_attention

from course_utils.attention.flash_spans import count_tiles, visible_spans
from course_utils.attention.flash_triton import flash_attention

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")

BATCH, HEADS, KV_HEADS, D_K, D_V = 2, 4, 2, 16, 24
LENGTHS = [(1, 70), (65, 64), (33, 90), (70, 35)]  # tiles have 64 rows
WINDOWS = [(-1, -1), (20, 0), (11, 7), (-1, 5), (0, 40)]
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def attention_ref(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, window: tuple[int, int], softcap: float,
    slopes: Tensor | None,
) -> Tensor:  # fmt: skip
    left, right = (window[0], 0) if causal else window
    rows, columns = q.shape[1], k.shape[1]
    k, v = (x.repeat_interleave(q.shape[2] // k.shape[2], dim=2) for x in (k, v))
    scores = torch.einsum("bthd,bshd->bhts", q / q.shape[-1] ** 0.5, k)
    if softcap > 0:
        scores = torch.tanh(scores / softcap) * softcap
    row = torch.arange(rows)[:, None] + columns - rows
    column = torch.arange(columns)
    hidden = torch.zeros(rows, columns, dtype=torch.bool)
    if left >= 0:
        hidden |= column < row - left
    if right >= 0:
        hidden |= column > row + right
    if slopes is not None:
        scores = scores - slopes[:, None, None] * (row - column).abs()
    attention = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    attention = attention.masked_fill(hidden.all(-1, keepdim=True), 0.0)
    return torch.einsum("bhts,bshd->bthd", attention, v)


def agree(
    lengths: tuple[int, int], dtype: torch.dtype, room: float, causal: bool = False,
    window: tuple[int, int] = (-1, -1), softcap: float = 0.0, slopes: Tensor | None = None,
) -> None:  # fmt: skip
    """Compare outputs and gradients with those of the same inputs in float64."""
    sizes = ((lengths[0], HEADS, D_K), (lengths[1], KV_HEADS, D_K), (lengths[1], KV_HEADS, D_V))
    given = [draw(BATCH, *size, seed=i).to(dtype) for i, size in enumerate(sizes)]

    def ours(*qkv: Tensor) -> Tensor:
        heads = (x.transpose(1, 2) for x in qkv)
        left, right = (None if side < 0 else side for side in window)
        out = flash_attention(
            *heads, causal, window=(left, right), offset=lengths[1] - lengths[0],
            cap=softcap or None, slopes=slopes,
        )  # fmt: skip
        return out.transpose(1, 2).double()

    exact = tuple(x.double().requires_grad_() for x in given)
    rounded = tuple(x.requires_grad_() for x in given)
    theirs = slopes if slopes is None else slopes.double()
    # A row without keys is a softmax of nothing, whose gradient is NaN before it is hidden.
    want = results(lambda *x: attention_ref(*x, causal, window, softcap, theirs), exact, exact)
    got = results(ours, rounded, rounded)
    got, want = ([x.to(dtype) for x in found] for found in (got, want))
    torch.testing.assert_close(got, want, rtol=room, atol=room, equal_nan=False)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "flash-attn's `attention_ref`, from its rules",
    "float32 1e-5", "outputs, gradients",
)  # fmt: skip
def test_windows_and_causality_are_aligned_bottom_right(lengths, window, causal) -> None:
    agree(lengths, torch.float32, 1e-5, causal, window)


@pytest.mark.parametrize("window", [(-1, -1), (20, 0)])
@pytest.mark.parametrize("softcap", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("slopes", [None, SLOPES], ids=["plain", "alibi"])
@pytest.mark.parametrize("lengths", LENGTHS[1:3])
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "flash-attn's `attention_ref`, from its rules",
    "float32 1e-5", "outputs, gradients",
)  # fmt: skip
def test_caps_and_slopes_combine_with_windows(lengths, slopes, softcap, window) -> None:
    agree(lengths, torch.float32, 1e-5, True, window, softcap, slopes)


@pytest.mark.parametrize("lengths", LENGTHS[1:3])
@pytest.mark.peer(
    "09", "`flash_attention`, interpreted", "flash-attn's `attention_ref`, from its rules",
    "float16 2e-3", "outputs, gradients",
)  # fmt: skip
def test_half_precision_is_the_reference_rounded(lengths) -> None:
    agree(lengths, torch.float16, 2e-3, True, (20, 0), 50.0, SLOPES)


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
