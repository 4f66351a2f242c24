"""Checks of the claims of chapter 05 about modules that were published."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.attention import (
    merge_heads,
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
    scaled_dot_product_attention,
    split_heads,
)
from course_utils.claims._inputs import draw, draws, largest, refused
from course_utils.claims.ch05 import fused_projection_is_the_same, heads_of_three
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import mha_parameters


@recomputes("05-05")
def fused_module_is_a_drop_in() -> Finding:
    """A fused module of width 512 without biases for Q, K, V against the unfused one."""
    fused = 512 * 3 * 512 + 512 * 512 + 512
    missing = mha_parameters(512, 8, True) - fused
    sizes = refused(multi_head_attention_fused, draw(1, 2, 12), draw(12, 36), draw(12, 12), 5)
    return weigh(
        f"{missing:,} parameters fewer; a width that the heads do not divide: {sizes}; no mask",
        holds=missing == 0,
        amended=fused_projection_is_the_same().verdict == "confirmed",
    )


@recomputes("05-19")
def keys_are_viewed_with_the_query_length() -> Finding:
    """key.view(B, L, h, d_k) for S keys."""
    key = draw(2, 9, 12)
    with_queries = refused(lambda: key.view(2, 5, 3, 4))
    right = tuple(key.view(2, key.size(1), 3, 4).shape)
    return weigh(
        f"5 queries, 9 keys: {with_queries}; with key.size(1) {right}", holds=not with_queries
    )


@recomputes("05-23", "05-25", "05-27", "05-30")
def multi_head_modules_are_right() -> Finding:
    """Heads at once and in a loop against nn.MultiheadAttention; d_model=512, 8 heads."""
    theirs = nn.MultiheadAttention(24, 3, bias=False, batch_first=True, dtype=torch.float64)
    x = draw(2, 5, 24)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(draw(72, 24, seed=1) / 5)
        theirs.out_proj.weight.copy_(draw(24, 24, seed=2) / 5)
        parts = (*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight)
        matrices: Any = [part.mT for part in parts]

        expected = theirs(x, x, x, need_weights=False)[0]
    ours = heads_of_three(x, matrices)
    loop = heads_of_three(x, matrices, multi_head_attention_loop)
    off = max(largest(ours, expected), largest(loop, expected))
    masks = [torch.ones(5, 5).bool(), torch.ones(1, 5, 5).bool(), torch.ones(2, 1, 5, 5).bool()]
    fit = sum(not refused(multi_head_attention, x, x, x, *matrices, 3, mask) for mask in masks)
    return weigh(
        f"{off:.0e} from torch's; {mha_parameters(512, 8, True):,} parameters at 512; {fit} of 3 "
        "masks of two, three and four axes fit",
        holds=off < 1e-12 and mha_parameters(512, 8, True) == 1_050_624,
    )


@recomputes("05-24")
def self_attention_module_is_complete() -> Finding:
    """Right as far as it goes; a width that the heads do not divide fails when it is called."""
    x, weights = draw(1, 5, 12), draws(*[(12, 12)] * 4, seed=1)
    off = largest(_published(x, weights, 3), heads_of_three(x, weights))
    late = refused(lambda: _published(x, weights, 5))
    return weigh(
        f"{off:.0e} from ours; 5 heads of 12 features: {late} in the call", holds=off < 1e-12
    )


def _published(x: Tensor, weights: Sequence[Tensor], heads: int) -> Tensor:
    W_q, W_k, W_v, W_o = weights
    width = x.shape[-1] // heads
    query, key, value = (
        (x @ W).view(*x.shape[:2], heads, width).transpose(1, 2) for W in (W_q, W_k, W_v)
    )
    given = (query @ key.mT / math.sqrt(width)).softmax(-1)
    return (given @ value).transpose(1, 2).reshape(x.shape) @ W_o


@recomputes("05-26")
def printed_shapes() -> Finding:
    """Contexts (2, 64), weights (2, 10), outputs (2, 10, 64) with 4 heads."""
    states, x = draw(2, 10, 64), draw(2, 10, 64)
    weights = torch.softmax((states @ draw(64, 1, seed=3))[..., 0], -1)
    context = (weights[:, None] @ states)[:, 0]
    heads = split_heads(x, 4)
    out = merge_heads(scaled_dot_product_attention(heads, heads, heads))
    told = [tuple(t.shape) for t in (context, weights, out)]
    return weigh(f"{told}", holds=told == [(2, 64), (2, 10), (2, 10, 64)] and heads.shape[1] == 4)
