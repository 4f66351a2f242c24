"""Checks of the claims of chapter 06."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn, tensor
from torch.nn import functional as F

from course_utils.attention import (
    additive_mask,
    causal_mask,
    combine_masks,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from course_utils.claims._inputs import attend, draw, largest, leak, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import count_flops


@recomputes("06-01", "06-16")
def minus_a_billion_masks() -> Finding:
    """-1e9 in three dtypes, filled in place as well, and on a row that is masked whole."""
    fits = {}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        scores = draw(2, 5).to(dtype)
        fits[str(dtype)[6:]] = not refused(scores.clone().masked_fill_, scores > 0, -1e9)
    fills = (-1e9, torch.finfo(torch.float32).min)
    uniform = all(torch.allclose(torch.full((5,), f).softmax(0), tensor(1 / 5)) for f in fills)
    zeros = masked_softmax(draw(1, 5), torch.zeros(1, 5).bool())
    return weigh(
        f"fits {fits} (float16 ends at {torch.finfo(torch.float16).min:.0f}); a row masked whole "
        f"attends evenly to everything, with finfo.min too: {uniform}; ours gives zeros: "
        f"{not bool(zeros.any())}",
        holds=all(fits.values()) and not uniform,
        amended=fits["float32"] and fits["bfloat16"],
    )


@recomputes("06-02")
def filling_in_place_is_safe() -> Finding:
    """masked_fill_ on divided scores: the gradients of the copy."""
    gradients: list[torch.Tensor] = []
    for name in ("masked_fill", "masked_fill_"):
        x = draw(4, 4).requires_grad_()
        scores = getattr(x @ x.mT / 2.0, name)(~causal_mask(4, 4), -1e9)
        gradients += torch.autograd.grad((scores.softmax(-1) @ x).square().sum(), x)
    off, elsewhere = largest(*gradients), refused(_uses_scores_elsewhere) or "fine"
    return weigh(f"gradients {off:.0e} apart; scores used elsewhere: {elsewhere}", holds=off == 0)


def _uses_scores_elsewhere() -> None:
    x = draw(4, 4).requires_grad_()
    scores = (x @ x.mT / 2.0).exp()
    scores.masked_fill_(~causal_mask(4, 4), 0.0).sum().backward()


@recomputes("06-03")
def minus_infinity_handles_any_mask() -> Finding:
    """A query that may see nothing: by hand, in F.sdpa, in nn.MultiheadAttention (torch 2.13)."""
    x, mask = draw(1, 3, 4), torch.ones(3, 3).bool()
    by_hand = (x @ x.mT).masked_fill(~causal_mask(3, 3), -math.inf).softmax(-1)
    mask[0] = False
    nan = bool((x @ x.mT).masked_fill(~mask, -math.inf).softmax(-1).isnan().any())
    zeros = not bool(F.scaled_dot_product_attention(x, x, x, mask)[0, 0].any())
    layer = nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64)
    ways = {}
    for training, weights in itertools.product((True, False), repeat=2):
        with torch.no_grad():
            out = layer.train(training)(x, x, x, need_weights=weights, attn_mask=~mask)[0]
        ways[f"{training}/{weights}"] = bool(out.isnan().any())
    return weigh(
        f"by hand NaN: {nan}; F.sdpa 0: {zeros}; nn.MultiheadAttention NaN by "
        f"training/need_weights: {ways}",
        holds=not nan,
        amended=not bool(by_hand.isnan().any()),
    )


@recomputes("06-05")
def first_position_looks_ahead() -> Finding:
    """Position 1 puts 45% on itself, 25% on the next: under a causal mask it has itself alone."""
    causal = float(masked_softmax(draw(5, 5), causal_mask(5, 5))[0, 0])
    both_ways = float(draw(5, 5).softmax(-1)[0, 0])
    return weigh(
        f"causal: {causal:.0%} on itself; without a mask {both_ways:.0%}",
        holds=causal < 1,
        amended=both_ways < 1,
    )


@recomputes("06-06", "06-07", "06-15")
def minus_infinity_before_the_softmax() -> Finding:
    """-inf where j > i, else 0, is added: exp(-inf)=0 (a listing beside it has -1e9)."""
    mask = additive_mask(causal_mask(5, 5), torch.float64)
    weights = (draw(5, 5) + mask).softmax(-1)
    future = float(weights.triu(1).sum())
    padding = additive_mask(padding_mask(tensor([3]), 5), torch.float64)
    padded = (draw(1, 1, 5, 5) + padding).softmax(-1)
    return weigh(
        f"exp(-inf) = {math.exp(-math.inf):g}; weight on the future {future:g}, on padding "
        f"{float(padded[..., 3:].sum()):g}; position 1 keeps itself: {float(weights[0, 0]):g}",
        holds=future == 0
        and not bool(padded[..., 3:].any())
        and bool((mask == torch.full((5, 5), -math.inf).triu(1)).all()),
    )


@recomputes("06-08")
def padding_mask_saves_work() -> Finding:
    """FLOPs with and without the mask; and what changes if padding changes."""
    x = draw(1, 1, 6, 4)
    mask = padding_mask(tensor([4]), 6)
    plain, masked = (count_flops(scaled_dot_product_attention, x, x, x, m) for m in (None, mask))
    return weigh(
        f"{plain} FLOPs without it, {masked} with it; other padding moves the outputs by "
        f"{leak(attend, x):.2f} without it, {leak(partial(attend, mask=mask), x):g} with it",
        holds=masked < plain,
    )


@recomputes("06-10")
def clipping_cures_nan() -> Finding:
    """A row masked whole: NaN in the forward pass, and after clipping its gradient."""
    x = draw(3, 4).requires_grad_()
    mask = causal_mask(3, 3)
    mask[0] = False
    out = (x @ x.mT).masked_fill(~mask, -math.inf).softmax(-1) @ x
    out.sum().backward()
    nn.utils.clip_grad_norm_([x], 1.0)
    clipped = bool(x.grad.isnan().any()) if x.grad is not None else False
    large = draw(3, 4).half() * 300
    overflow = bool((large @ large.mT).isinf().any())
    return weigh(
        f"forward pass NaN: {bool(out.isnan().any())}, after clipping: {clipped}; float16 scores "
        f"overflow: {overflow}",
        holds=not clipped,
        amended=overflow,  # so one half of the advice, fp16, is worth a look
    )


@recomputes("06-04")
def one_mask_argument_serves_all() -> Finding:
    """Try which masks fit scores [B,h,S,S] as they are, and which with an axis of heads."""
    fits = _fits(lambda mask: mask)
    headed = _fits(lambda mask: mask.unsqueeze(1) if mask.dim() == 3 else mask)
    return weigh(
        f"as they are {fits}; with the head axis {headed}",
        holds=all(fits.values()),
        amended=all(headed.values()),
    )


@recomputes("06-11")
def two_axes_in_front_fit_any_mask() -> Finding:
    """mask.unsqueeze(0).unsqueeze(1): a 2-D mask only."""
    fits = _fits(lambda mask: mask.unsqueeze(0).unsqueeze(1))
    return weigh(f"fits, and masks what it should: {fits}", holds=all(fits.values()))


def _fits(shaped: Callable[[Tensor], Tensor]) -> dict[str, bool]:
    """Return which masks of a batch of 2 broadcast to scores of 3 heads and keep their meaning."""
    per_text = draw(2, 4, 4) > 0
    masks = {"(S, S)": per_text[0], "(B, S, S)": per_text, "(B, 1, 1, S)": per_text[:, None, :1]}
    fits = {}
    for name, mask in masks.items():
        wanted = (mask[:, None] if mask.dim() == 3 else mask).expand(2, 3, 4, 4)
        runs = not refused(lambda m: shaped(m).expand(2, 3, 4, 4), mask)
        fits[name] = runs and torch.equal(shaped(mask).expand(2, 3, 4, 4), wanted)
    return fits


@recomputes("06-12")
def padding_and_causal_masks_combine() -> Finding:
    """Padding on the right, and on the left."""
    right = combine_masks(padding_mask(tensor([3]), 5), causal_mask(5, 5))
    left = combine_masks(padding_mask(tensor([3]), 5).flip(-1), causal_mask(5, 5))
    empty = [int((~mask.any(-1)).sum()) for mask in (right, left)]
    return weigh(
        f"rows that may see nothing: {empty[0]} with padding on the right, {empty[1]} on the left",
        holds=empty == [0, 0],
        amended=empty[0] == 0,
    )


@recomputes("06-13", "06-14")
def masks_are_true_where_kept() -> Finding:
    """A causal mask (S, S) and a padding mask (B, 1, S), both True = keep; token 0 is padding."""
    tokens = tensor([[5, 3, 0], [7, 1, 2]])
    padding, causal = (tokens != 0)[:, None], torch.ones(3, 3).tril().bool()
    lengths = (tokens != 0).sum(-1)
    same = torch.equal(padding & causal, combine_masks(padding_mask(lengths, 3), causal)[:, 0])
    ours = torch.equal(causal, causal_mask(3, 3))
    return weigh(
        f"the lower triangle is ours: {ours}; with padding, {tuple((padding & causal).shape)}: "
        f"{same}",
        holds=ours and same,
    )
