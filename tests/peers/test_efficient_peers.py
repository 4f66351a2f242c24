"""The cheaper attentions beside PyTorch's SDPA and FlexAttention."""

import pytest
import torch
from peer_support import BATCH, LENGTHS, assert_same_function, draw, draw_mask
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel

from course_utils.attention import (
    block_sparse_attention,
    blocked_window_attention,
    fixed_mask,
    global_window_attention,
    grouped_query_attention,
    sliding_window_attention,
    strided_mask,
)

HEADS, D_K = 4, 8


def inputs(num_queries: int, num_keys: int, kv_heads: int = HEADS) -> tuple[Tensor, ...]:
    query = draw(BATCH, HEADS, num_queries, D_K)
    return query, *(draw(BATCH, kv_heads, num_keys, D_K, seed=seed) for seed in (1, 2))


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("shape", [None, (), (HEADS,), (BATCH, 1), (BATCH, HEADS)], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.peer(
    "08",
    "`grouped_query_attention`",
    "SDPA with `enable_gqa`",
    "float64 1e-7",
    "outputs, gradients",
)
def test_grouped_queries_are_sdpa_s_enable_gqa(lengths, shape, kv_heads) -> None:
    mask = None if shape is None else draw_mask(*shape, *lengths)
    if mask is not None:
        mask[..., 0, :] = False  # a query that may see nothing

    def theirs(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)

    given = inputs(*lengths, kv_heads)
    assert_same_function(lambda *x: grouped_query_attention(*x, mask), theirs, given)


# Each pattern of ours beside FlexAttention's way to say it: a rule of batch, head, query and key.
PATTERNS = {
    "window": (
        lambda *x: sliding_window_attention(*x, 9),
        lambda b, h, q, k: (k <= q) & (q - k < 9),
    ),
    "window, in blocks": (
        lambda *x: blocked_window_attention(*x, 9),
        lambda b, h, q, k: (k <= q) & (q - k < 9),
    ),
    "window and global tokens": (
        lambda *x: global_window_attention(*x, 6, 3),
        lambda b, h, q, k: ((q - k).abs() <= 6) | (q < 3) | (k < 3),
    ),
    "strided": (
        lambda *x: block_sparse_attention(*x, strided_mask(len(x[0][0, 0]), 8), 16),
        lambda b, h, q, k: (k <= q) & ((q - k < 8) | ((q - k) % 8 == 0)),
    ),
    "fixed": (
        lambda *x: block_sparse_attention(*x, fixed_mask(len(x[0][0, 0]), 16, 3), 16),
        lambda b, h, q, k: (k <= q) & ((q // 16 == k // 16) | (k % 16 >= 13)),
    ),
}


@pytest.mark.parametrize("length", [1, 64, 100])
@pytest.mark.parametrize(("ours", "rule"), PATTERNS.values(), ids=PATTERNS)
@pytest.mark.peer(
    "08",
    "`sliding_window_attention`, `blocked_window_attention`, `global_window_attention`, "
    "`block_sparse_attention`, `strided_mask`, `fixed_mask`",
    "FlexAttention, which has no backward pass on a CPU",
    "float64 1e-7",
    "outputs",
)
def test_attends_as_flex_attention_does(ours, rule, length, monkeypatch) -> None:
    # Without this, FlexAttention warns that it is not compiled; it has no backward on a CPU.
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    given = inputs(length, length)
    blocks = flex_attention.create_block_mask(rule, None, None, length, length, device="cpu")
    want = flex_attention.flex_attention(*given, block_mask=blocks)
    torch.testing.assert_close(ours(*given), want)


@pytest.mark.parametrize("length", [1, 64, 100])
@pytest.mark.parametrize(("ours", "rule"), PATTERNS.values(), ids=PATTERNS)
@pytest.mark.peer(
    "08",
    "`sliding_window_attention`, `blocked_window_attention`, `global_window_attention`, "
    "`block_sparse_attention`, `strided_mask`, `fixed_mask`",
    "SDPA under FlexAttention's masks",
    "float64 1e-7",
    "outputs, gradients",
)
def test_has_the_gradients_of_sdpa_under_flex_attention_s_mask(ours, rule, length) -> None:
    mask = flex_attention.create_mask(rule, 1, 1, length, length, device="cpu")

    def theirs(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, k, v, mask)

    assert_same_function(ours, theirs, inputs(length, length))


@pytest.mark.parametrize("length", [64, 100])
@pytest.mark.parametrize("name", ["strided", "fixed"])
@pytest.mark.peer(
    "08", "`block_sparse_attention`", "FlexAttention's block masks", "equal", "blocks that are read"
)
def test_touches_the_blocks_that_flex_attention_touches(name, length) -> None:
    masks = {"strided": strided_mask(length, 24), "fixed": fixed_mask(length, 32, 3)}
    rules = {
        "strided": lambda b, h, q, k: (k <= q) & ((q - k < 24) | ((q - k) % 24 == 0)),
        "fixed": lambda b, h, q, k: (k <= q) & ((q // 32 == k // 32) | (k % 32 >= 29)),
    }
    theirs = flex_attention.create_block_mask(
        rules[name], None, None, length, length, device="cpu", BLOCK_SIZE=16
    )
    touched = []

    def spy(query, key, value, attn_mask):
        touched.append(-(-key.shape[-2] // 16))
        return query

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", spy)
        block_sparse_attention(*inputs(length, length), masks[name], 16)
    assert touched == theirs.to_dense()[0, 0].sum(-1).tolist()
