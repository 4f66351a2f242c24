"""Checks of the claims of chapter 05."""

import math
from collections.abc import Callable, Sequence
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
from course_utils.claims._inputs import draw, draws, largest, recorded, refused
from course_utils.claims.figures import arithmetic, meant, said
from course_utils.claims.finding import Finding, by_machine, recomputes, weigh
from course_utils.measure import attention_flops, mha_parameters, qkv_parameters

# fmt: off
arithmetic("05-13", "BERT and GPT-2 {:.0f}, GPT-3 175B {:.0f}, LLaMA {:.0f}",
    meant("64", 768 / 12), said("64", 12_288 / 96), said("64", 4096 / 32))
arithmetic("05-16", "1 head {:g}d^2, 8 heads {:g}d^2, without W_O {:g}d^2",
    said("3", mha_parameters(64, 1, False) / 64**2),
    meant("4", mha_parameters(64, 8, False) / 64**2),
    meant("3", mha_parameters(64, 1, False) / 64**2 - 1))
# fmt: on


def heads_of_three(
    x: Tensor, weights: Sequence[Tensor], attend: Callable[..., Tensor] = multi_head_attention
) -> Tensor:
    """Return self-attention with three heads."""
    W_q, W_k, W_v, W_o = weights
    return attend(x, x, x, W_q, W_k, W_v, W_o, 3)


@recomputes("05-01")
def mask_is_repeated_over_the_heads() -> Finding:
    """unsqueeze(1).repeat(1, h, 1, 1) on masks of two, three and four axes."""
    heads, scores = 3, draw(2, 3, 4, 4)
    fits = {
        f"{len(axes)}-D": not refused(
            lambda mask: scores + mask.unsqueeze(1).repeat(1, heads, 1, 1), torch.ones(axes)
        )
        for axes in ((4, 4), (2, 4, 4), (2, 1, 4, 4))
    }
    shape = tuple(torch.ones(4, 4).unsqueeze(1).expand(4, 1, 4)[None].shape)
    return weigh(
        f"{fits} (a mask (4, 4) becomes {shape} before the copies, not one of (1, 3, 4, 4))",
        holds=all(fits.values()),
        amended=fits["3-D"],
    )


@recomputes("05-02", "05-06")
def heads_are_independent() -> Finding:
    """A loop over the heads against all at once; each reads its own part of the projections."""
    x, weights = draw(2, 5, 12), draws(*[(12, 12)] * 4, seed=1)
    loop = heads_of_three(x, weights, multi_head_attention_loop)
    off = largest(heads_of_three(x, weights), loop)
    return weigh(f"one head after the other: {off:.0e} from all at once", holds=off < 1e-12)


@recomputes("05-03")
def fused_projection_is_the_same() -> Finding:
    """One product with W_Q, W_K and W_V side by side."""
    x, weights = draw(2, 5, 12), draws(*[(12, 12)] * 4, seed=1)
    fused = multi_head_attention_fused(x, torch.cat(weights[:3], dim=1), weights[3], 3)
    off = largest(heads_of_three(x, weights), fused)
    return weigh(f"{off:.0e} apart", holds=off < 1e-12)


@recomputes("05-04", "05-09")
def fused_projection_is_faster() -> Finding:
    """Time of three projections over one, from the record; FLOPs are equal."""
    told = [
        f"{run['times']:.2f} times as long at {run['tokens']:,} tokens"
        for run in recorded("chapter_18_claims", what="three projections over one")
    ]
    return by_machine("three projections take " + ", ".join(told), "chapter_18_claims")


@recomputes("05-08", "05-28")
def parameters_do_not_grow_with_heads() -> Finding:
    """Width 512 with 8 heads: 1,050,624, whatever the number of heads."""
    counts = {mha_parameters(512, heads, True) for heads in (1, 2, 4, 8, 16)}
    return weigh(f"1 to 16 heads, with biases: {counts}", holds=counts == {1_050_624})


@recomputes("05-15")
def heads_cost_what_one_costs() -> Finding:
    """FLOPs of the products with d_k=d_model/h."""
    counts = {attention_flops(1, h, 100, 100, 512 // h, 512 // h) for h in (1, 2, 8)}
    return weigh(f"1, 2 and 8 heads of width 512 together: {counts}", holds=len(counts) == 1)


@recomputes("05-17")
def output_projection_adds_a_third() -> Finding:
    """W^O: +33% on Q, K, V, 25% of the layer; h=1..8 at d=64 all have 16,640."""
    counts = {mha_parameters(64, heads, True) for heads in (1, 2, 4, 8)}
    qkv = qkv_parameters(64, 8, 8, 8, False)
    out = mha_parameters(64, 8, False) - qkv
    return weigh(
        f"+{out / qkv:.0%} on Q,K,V, {out / (qkv + out):.0%} of the layer; h=1..8 at d=64: "
        f"{counts}",
        holds=len(counts) > 1,  # then it would be the cost of having several heads
        amended=counts == {16_640},
    )


@recomputes("05-18")
def heads_multiply_capacity() -> Finding:
    """The rank of a head's score form: d/h (Bhojanapalli 2020: too many heads hurt)."""
    W_q, W_k = draws((64, 64), (64, 64))
    widths = {heads: slice(64 // heads) for heads in (1, 8)}
    rank = {h: int(torch.linalg.matrix_rank(W_q[:, w] @ W_k[:, w].mT)) for h, w in widths.items()}
    return weigh(
        f"d=64: one head has a score form of rank {rank[1]}, each of 8 one of {rank[8]}",
        holds=8 * rank[8] > rank[1],
    )


@recomputes("05-20")
def small_heads_are_faster() -> Finding:
    """FLOPs at fixed d_model, the rank of the scores, and numbers read for each product."""
    flops = {w: attention_flops(1, 512 // w, 256, 256, w, w) for w in (16, 64, 256)}
    intensity = {w: round(2 * 256 * 256 * w / (256 * w * 2 + 256 * 256), 1) for w in flops}
    return weigh(
        f"FLOPs {set(flops.values())} for heads of 16, 64 and 256; per number read or written "
        f"{intensity}",
        holds=flops[16] < flops[256],
        amended=intensity[16] < intensity[256],  # the larger head is richer: one rank per feature
    )


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
