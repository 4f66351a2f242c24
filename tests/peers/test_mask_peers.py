"""Masks beside those of PyTorch's SDPA and FlexAttention, and attention under them."""

import pytest
import torch
from peer_support import LENGTHS, assert_same_function, draw
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, bias, flex_attention, sdpa_kernel

from course_utils.attention import (
    additive_mask,
    causal_mask,
    combine_masks,
    document_mask,
    masked_softmax,
    padding_mask,
    prefix_mask,
    scaled_dot_product_attention,
    window_mask,
)

REAL = torch.tensor([4, 0, 7])  # lengths of a batch, one of them empty
DOCUMENTS = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [5, 5, 5, 5, 5, 5, 5], [1, 2, 2, 1, 1, 2, 3]])

# Each of our masks beside FlexAttention's way to say it: a rule of batch, head, query and key.
RULES = {
    "causal": (causal_mask(5, 7), lambda b, h, q, k: k <= q),
    "causal, more queries": (causal_mask(7, 3), lambda b, h, q, k: k <= q),
    "causal, after a cache": (causal_mask(3, 7, 4), lambda b, h, q, k: k <= q + 4),
    "causal, one query": (causal_mask(1, 7, 6), lambda b, h, q, k: k <= q + 6),
    "causal, empty rows": (causal_mask(5, 7, -2), lambda b, h, q, k: k <= q - 2),
    "window": (window_mask(7, 7, 3), lambda b, h, q, k: (k <= q) & (q - k < 3)),
    "window, of one": (window_mask(5, 7, 1), lambda b, h, q, k: k == q),
    "window, after a cache": (
        window_mask(2, 7, 4, 5),
        lambda b, h, q, k: (k <= q + 5) & (q + 5 - k < 4),
    ),
    "prefix": (prefix_mask(7, 3), lambda b, h, q, k: (k < 3) | (k <= q)),
    "prefix, none": (prefix_mask(7, 0), lambda b, h, q, k: k <= q),
    "padding": (padding_mask(REAL, 7).expand(3, 1, 5, 7), lambda b, h, q, k: k < REAL[b]),
    "documents": (
        document_mask(DOCUMENTS),
        lambda b, h, q, k: (DOCUMENTS[b, q] == DOCUMENTS[b, k]) & (k <= q),
    ),
    "documents, window and padding": (
        combine_masks(document_mask(DOCUMENTS), window_mask(7, 7, 2), padding_mask(REAL, 7)),
        lambda b, h, q, k: (
            (DOCUMENTS[b, q] == DOCUMENTS[b, k]) & (k <= q) & (q - k < 2) & (k < REAL[b])
        ),
    ),
}
EACH_RULE = pytest.mark.parametrize(("mask", "rule"), RULES.values(), ids=RULES)
EACH_MASK = pytest.mark.parametrize("mask", [mask for mask, _ in RULES.values()], ids=RULES)


def inputs(num_queries: int, num_keys: int) -> tuple[Tensor, Tensor, Tensor]:
    return draw(3, 2, num_queries, 4), draw(3, 2, num_keys, 4), draw(3, 2, num_keys, 6)


def sdpa(*given: Tensor, **options) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(*given, **options)


@EACH_RULE
@pytest.mark.peer(
    "06",
    "`causal_mask`, `window_mask`, `prefix_mask`, `padding_mask`, `document_mask`, `combine_masks`",
    "FlexAttention's rules",
    "equal",
    "masks",
)
def test_says_what_flex_attention_s_rule_says(mask, rule) -> None:
    batch = mask.shape[0] if mask.dim() == 4 else 1
    sizes = (batch, 1, *mask.shape[-2:])
    assert torch.equal(flex_attention.create_mask(rule, *sizes, device="cpu"), mask.view(sizes))
    blocks = flex_attention.create_block_mask(rule, *sizes, device="cpu", BLOCK_SIZE=1)
    assert torch.equal(blocks.to_dense().bool(), mask.view(sizes))


@EACH_RULE
@pytest.mark.peer(
    "06",
    "`scaled_dot_product_attention` under each mask",
    "FlexAttention, which has no backward pass on a CPU",
    "float64 1e-7",
    "outputs",
)
def test_attends_as_flex_attention_does(mask, rule, monkeypatch) -> None:
    # Without this, FlexAttention warns that it is not compiled; it has no backward on a CPU.
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    num_queries, num_keys = mask.shape[-2:]
    given = inputs(num_queries, num_keys)
    blocks = flex_attention.create_block_mask(rule, 3, 2, num_queries, num_keys, device="cpu")
    want = flex_attention.flex_attention(*given, block_mask=blocks)
    torch.testing.assert_close(scaled_dot_product_attention(*given, mask), want)


@EACH_MASK
@pytest.mark.peer(
    "06",
    "`masked_softmax`, `additive_mask`",
    "SDPA under each mask, boolean and added",
    "float64 1e-7",
    "outputs, gradients",
)
def test_attends_as_sdpa_does(mask) -> None:
    for ours in (
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: masked_softmax(q @ k.mT / 2, mask) @ v,
    ):
        assert_same_function(ours, lambda *x: sdpa(*x, attn_mask=mask), inputs(*mask.shape[-2:]))


@EACH_MASK
@pytest.mark.peer(
    "06",
    "`masked_softmax`, `additive_mask`",
    "SDPA under each mask, boolean and added",
    "float64 1e-7",
    "outputs, gradients",
)
def test_numbers_to_add_say_the_same_to_sdpa(mask) -> None:
    numbers = additive_mask(mask, torch.float64)
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda *x: sdpa(*x, attn_mask=numbers),
        inputs(*mask.shape[-2:]),
    )


@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer(
    "06",
    "`masked_softmax`, `additive_mask`",
    "SDPA under each mask, boolean and added",
    "float64 1e-7",
    "outputs, gradients",
)
def test_offset_zero_is_sdpa_s_is_causal(num_queries, num_keys) -> None:
    mask = causal_mask(num_queries, num_keys)
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda *x: sdpa(*x, is_causal=True),
        inputs(num_queries, num_keys),
    )


@pytest.mark.parametrize(("num_queries", "num_keys"), [(3, 5), (5, 5), (1, 6), (1, 1)])
@pytest.mark.peer(
    "06", "`causal_mask` at two offsets", "torch's two causal biases", "float64 1e-7", "outputs"
)
def test_torch_s_two_causal_biases_are_two_offsets(num_queries, num_keys) -> None:
    sizes = (num_queries, num_keys)
    upper, lower = bias.causal_upper_left(*sizes), bias.causal_lower_right(*sizes)
    given, last = inputs(*sizes), num_keys - num_queries
    for mask, theirs in ((causal_mask(*sizes), upper), (causal_mask(*sizes, last), lower)):
        want = F.scaled_dot_product_attention(*given, attn_mask=theirs)
        torch.testing.assert_close(scaled_dot_product_attention(*given, mask), want)
