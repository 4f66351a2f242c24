"""What goes wrong with the mask of attention."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import (
    build,
    hide,
    no_empty,
    renormalised,
    torch_softmax,
)


def _filled(number: float, turn: Callable[[Tensor], Tensor] = stable_softmax) -> Function:
    return build(hide=lambda scores, mask: scores.masked_fill(~mask, number), turn=turn)


def _hide_queries(scores: Tensor, mask: Tensor) -> Tensor:
    full = mask.expand(scores.shape)
    return scores.masked_fill(~full[..., :1], -torch.inf)


def _transposed(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask.mT, -torch.inf)


def _first_mask(scores: Tensor, mask: Tensor) -> Tensor:
    while mask.dim() > 2:
        mask = mask[0]
    return hide(scores, mask)


def _always_causal(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    causal = torch.ones(query.shape[-2], key.shape[-2]).tril().bool()
    mask = causal if attn_mask is None else causal & attn_mask
    out: Tensor = build()(query, key, value, mask, scale)
    return out


MASK = (
    Misconception(
        "mask ignored",
        build(hide=lambda scores, mask: scores),
        "A mask changes nothing. Where is `attn_mask` used?",
    ),
    Misconception(
        "mask inverted",
        build(hide=lambda scores, mask: scores.masked_fill(mask, -torch.inf)),
        "Each query attends to exactly what it may not see. What does True mean in `attn_mask`, "
        "and what does True mean to `masked_fill`?",
        also=(
            build(hide=lambda s, m: s.masked_fill(m, -1e9)),
            build(hide=lambda s, m: s.masked_fill(m, -torch.inf), turn=torch_softmax),
        ),
    ),
    Misconception(
        "mask added as 0 and 1",
        build(hide=lambda scores, mask: scores + mask.to(scores.dtype)),
        "True was added to the scores as 1 and False as 0: that hides nothing. How far down must "
        "a score go for its weight to be 0?",
        also=(
            build(hide=lambda s, m: s - (~m).to(s.dtype)),
            build(hide=lambda s, m: s + (~m).to(s.dtype)),
        ),
    ),
    Misconception(
        "scores multiplied by the mask",
        build(hide=lambda scores, mask: scores * mask),
        "Hidden scores became 0, and exp(0) is 1: they still get a share. Which score gets none?",
        also=(_filled(0.0), _filled(1e-9), _filled(-1.0)),
    ),
    Misconception(
        "mask after the softmax",
        build(after=lambda w, m: w * m, hide=lambda s, m: s),
        "Hidden weights were set to 0 after the softmax, so the others no longer sum to 1. When "
        "must a key be taken out so that the rest share 1?",
    ),
    Misconception(
        "mask after the softmax, then divided again",
        build(hide=lambda s, m: s, after=renormalised),
        "Hidden weights were set to 0 after the softmax and the rest divided by its sum. Where the "
        "hidden keys have by far the best scores, nothing is left to divide. Which step comes "
        "first?",
        also=(
            build(hide=lambda s, m: s, after=lambda w, m: renormalised(w, m, 1e-9)),
            build(hide=lambda s, m: s, after=lambda w, m: renormalised(w, m, 0.0)),
        ),
    ),
    Misconception(
        "fill that is not low enough",
        _filled(-1e4),
        "A hidden key won, because the visible scores were lower still than the number that was "
        "filled in. Which number is lower than every score?",
        also=(
            _filled(-10.0),
            _filled(-100.0),
            _filled(-1e3),
            _filled(-1e4, torch_softmax),
            build(hide=lambda s, m: s + (~m).to(s.dtype) * -1e4),
            build(hide=lambda s, m: s + (~m).to(s.dtype) * -1e3),
            build(hide=lambda s, m: s.masked_fill(~m, -1e4), after=no_empty),
            build(hide=lambda s, m: s.masked_fill(~m, -1e3), after=no_empty),
        ),
    ),
    Misconception(
        "mask times infinity",
        build(hide=lambda s, m: s + (1 - m.to(s.dtype)) * -torch.inf, turn=torch_softmax),
        "0 times infinity is NaN, so every visible score is lost. How else can -inf be put where "
        "the mask is False?",
        also=(build(hide=lambda s, m: s + (1 - m.to(s.dtype)) * -torch.inf),),
    ),
    Misconception(
        "mask before the scale",
        build(scale_late=True, hide=lambda s, m: s.masked_fill(~m, -1e9), after=no_empty),
        "The hidden scores were scaled after they had been filled in, so a scale of 0 or below "
        "brings them back. Which of the two steps must come last?",
        also=(build(scale_late=True),),
    ),
    Misconception(
        "one mask for all queries",
        build(hide=lambda s, m: hide(s, m.expand(s.shape).all(-2, keepdim=True))),
        "All queries were given the same mask. The mask has a row for each query: which axis was "
        "merged or dropped?",
        also=(
            build(hide=lambda s, m: hide(s, m.expand(s.shape).any(-2, keepdim=True))),
            build(hide=lambda s, m: hide(s, m[..., :1, :])),
            build(hide=lambda s, m: hide(s, m[..., -1:, :])),
        ),
    ),
    Misconception(
        "one mask for all batches",
        build(hide=_first_mask),
        "Every sequence or head was given the mask of the first one. What do the leading axes of "
        "the mask say?",
    ),
    Misconception(
        "mask transposed",
        build(hide=_transposed),
        "The mask is read with its two axes swapped. Which of them belongs to the queries?",
    ),
    Misconception(
        "queries masked instead of keys",
        build(hide=_hide_queries),
        "Whole rows were hidden, not single keys. Along which axis does a query choose?",
    ),
    Misconception(
        "always causal",
        _always_causal,
        "Each query sees only keys up to its own position, though nobody asked for it. Where does "
        "that mask come from?",
    ),
)
