"""Checks of the claims of chapter 05."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_utils.attention import (
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from course_utils.claims._inputs import draw, draws, largest, recorded, refused
from course_utils.claims.finding import Finding, by_machine, recomputes, weigh
from course_utils.measure import attention_flops, mha_parameters


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


@recomputes("05-13")
def heads_are_width_over_64() -> Finding:
    """d_model/h of BERT and GPT-2, of GPT-3 175B and of LLaMA."""
    widths = {"BERT": 768 // 12, "GPT-2": 768 // 12, "GPT-3": 12288 // 96, "LLaMA": 4096 // 32}
    return weigh(
        f"{widths}",
        holds=set(widths.values()) == {64},
        amended=widths["BERT"] == widths["GPT-2"] == 64,
    )


@recomputes("05-15")
def heads_cost_what_one_costs() -> Finding:
    """FLOPs of the products with d_k=d_model/h."""
    counts = {attention_flops(1, h, 100, 100, 512 // h, 512 // h) for h in (1, 2, 8)}
    return weigh(f"1, 2 and 8 heads of width 512 together: {counts}", holds=len(counts) == 1)


@recomputes("05-16")
def single_head_has_three_matrices() -> Finding:
    """3d^2 and 4d^2: the fourth is the output projection, which one head may have too."""
    counts = {heads: mha_parameters(64, heads, False) // 64**2 for heads in (1, 8)}
    return weigh(
        f"1 head {counts[1]}d^2, 8 heads {counts[8]}d^2, without W_O {counts[1] - 1}d^2",
        holds=counts[1] == 3,
        amended=counts[1] - 1 == 3 and counts[8] == 4,
    )


@recomputes("05-17")
def output_projection_adds_a_third() -> Finding:
    """W^O: +33% on Q, K, V, 25% of the layer; h=1..8 at d=64 all have 16,640."""
    counts = {mha_parameters(64, heads, True) for heads in (1, 2, 4, 8)}
    return weigh(
        f"+{1 / 3:.0%} on Q,K,V, {1 / 4:.0%} of the layer; h=1..8 at d=64: {counts}",
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
