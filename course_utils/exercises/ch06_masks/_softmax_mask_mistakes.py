"""What goes wrong with the mask of a masked softmax."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._masked_softmaxes import (
    INF,
    add,
    as_batch,
    build,
    by_hand,
    divided,
    divided_with,
    fill,
    first_table,
    hide,
    masked,
    no_empty,
    nothing,
    plain,
)


def _in_place(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill_(~mask, -INF)


def _mask_in_place(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask.logical_not_(), -INF)


def _causal(scores: Tensor, mask: Tensor) -> Tensor:
    past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return hide(scores, mask & past)


MASK = (
    Misconception(
        "mask ignored",
        build(hide=nothing),
        "The weights are those of a plain softmax. Where is `attn_mask` used?",
        also=(build(hide=nothing, turn=plain),),
    ),
    Misconception(
        "mask inverted",
        build(hide=lambda s, m: hide(s, ~m)),
        "Each query attends to exactly what it may not see. What does True mean in `attn_mask`, "
        "and what does True mean to `masked_fill`?",
        also=(
            build(hide=lambda s, m: fill(-1e9)(s, ~m)),
            build(hide=lambda s, m: hide(s, ~m), turn=plain),
            build(hide=lambda s, m: fill(-1e9)(s, ~m), turn=plain),
        ),
    ),
    Misconception(
        "in-place fill",
        build(hide=_in_place),
        "The -inf was written into the caller's own scores, and whoever reads them afterwards "
        "finds them spoilt. What does the underscore at the end of a method's name mean?",
        also=(
            build(hide=_in_place, turn=plain),
            build(hide=lambda s, m: s.masked_fill_(~m, -1e9), after=no_empty),
            build(hide=lambda s, m: s.masked_fill_(~m, -1e9), turn=plain),
        ),
    ),
    Misconception(
        "mask changed in place",
        build(hide=_mask_in_place),
        "The caller's mask was turned over, so that the next layer gets the opposite. What does "
        "the underscore at the end of a method's name mean?",
    ),
    Misconception(
        "mask added as 0 and 1",
        build(hide=lambda s, m: s + m.to(s.dtype)),
        "True was added to the scores as 1 and False as 0: that hides nothing. How far down must "
        "a score go for its weight to be 0?",
        also=(
            build(hide=lambda s, m: s - (~m).to(s.dtype)),
            build(hide=lambda s, m: s + (~m).to(s.dtype)),
            build(hide=lambda s, m: s + m.to(s.dtype), after=no_empty),
        ),
    ),
    Misconception(
        "scores multiplied by the mask",
        build(hide=lambda s, m: s * m),
        "Hidden scores became 0, and exp(0) is 1: they still get a share. Which score gets none?",
        also=(
            build(hide=fill(0.0)),
            build(hide=fill(-1.0)),
            build(hide=fill(1e-9)),
            build(hide=lambda s, m: s * m, after=no_empty),
            build(hide=fill(0.0), after=masked),
        ),
    ),
    Misconception(
        "mask after the softmax",
        build(hide=nothing, after=masked),
        "Hidden weights were set to 0 after the softmax, so the others no longer sum to 1, and "
        "what they sum to depends on what was hidden. When must a key be taken out?",
        also=(build(hide=nothing, turn=plain, after=masked),),
    ),
    Misconception(
        "mask after the softmax, then divided again",
        build(hide=nothing, after=divided),
        "Hidden weights were set to 0 after the softmax and the rest divided by its sum. Where the "
        "hidden keys have by far the best scores, nothing is left to divide. Which step comes "
        "first?",
        also=(
            build(hide=nothing, after=divided_with(1e-9)),
            build(hide=nothing, after=divided_with(1e-12)),
            build(hide=nothing, after=divided_with(1e-8)),
            build(hide=nothing, after=divided_with(0.0)),
            build(hide=lambda s, m: s * m, after=divided),
            by_hand(lambda s, m: s.amax(-1, keepdim=True)),
            by_hand(lambda s, m: s.amax(-1, keepdim=True), 1e-9),
        ),
    ),
    Misconception(
        "fill that is not low enough",
        build(hide=fill(-1e4), after=no_empty),
        "A hidden key won, because the visible scores were lower still than the number that was "
        "filled in. Which number is lower than every score?",
        also=(
            *(build(hide=hidden(-1e4), after=masked) for hidden in (fill, add)),
            build(hide=fill(-65504.0), after=no_empty),
            *(
                build(hide=hidden(number), after=after)
                for hidden in (fill, add)
                for number in (-10.0, -100.0, -1e3, -1e4, -1e6)
                for after in (nothing, no_empty)
            ),
        ),
    ),
    Misconception(
        "a large number added",
        build(hide=add(-1e9), turn=plain, after=no_empty),
        "A number was added to the hidden scores, so they still count: a hidden score of 1e30 "
        "wins all the same. What can stand in their place, instead of being added to them?",
        also=(
            build(hide=add(-1e9), after=masked),
            build(hide=add(-1e12), after=no_empty),
        ),
    ),
    Misconception(
        "-1e9 in half precision",
        build(hide=fill(-1e9), after=no_empty),
        "It works until the scores are float16: the lowest number there is -65504, and -1e9 "
        "cannot be written. Which number exists in every floating dtype and is lower than all "
        "others?",
        also=(build(hide=fill(-1e9), turn=plain, after=masked),),
    ),
    Misconception(
        "mask times infinity",
        build(hide=lambda s, m: s + (~m).to(s.dtype) * -INF, turn=plain),
        "0 times infinity is NaN, so every visible score is lost. How else can -inf be put where "
        "the mask is False?",
        also=(build(hide=lambda s, m: s + (1 - m.to(s.dtype)) * -INF),),
    ),
    Misconception(
        "mask transposed",
        build(hide=lambda s, m: hide(s, m.mT)),
        "The mask is read with its two axes swapped. Which of them belongs to the queries?",
    ),
    Misconception(
        "queries masked instead of keys",
        build(hide=lambda s, m: hide(s, m.expand(s.shape)[..., :1])),
        "Whole rows were hidden, not single keys. Along which axis does a query choose?",
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
        build(hide=lambda s, m: hide(s, first_table(m))),
        "Every sequence or head was given the mask of the first one. What do the leading axes of "
        "the mask say?",
        also=(build(hide=lambda s, m: hide(s, m[:1] if m.dim() > 2 else m)),),
    ),
    Misconception(
        "a mask for each head read as one for each sequence",
        build(hide=lambda s, m: hide(s, as_batch(s, m))),
        "The mask (H, L, S) was laid along the batch. Shapes are lined up from the right, as in "
        "torch's SDPA: with which axis of (B, H, L, S) does the first of three axes meet?",
    ),
    Misconception(
        "always causal",
        build(hide=_causal),
        "Each query sees only keys up to its own position, though nobody asked for it. Where does "
        "that mask come from?",
    ),
)
