"""Checks of the claims of chapter 06 about the shapes of masks and how they combine."""

from collections.abc import Callable

import torch
from torch import Tensor, tensor

from course_utils.attention import causal_mask, combine_masks, padding_mask
from course_utils.claims._inputs import draw, refused
from course_utils.claims.finding import Finding, recomputes, weigh


@recomputes("06-04")
def one_mask_argument_serves_all() -> Finding:
    """Which masks fit scores [B,h,S,S] as they are, and which with an axis of heads."""
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
