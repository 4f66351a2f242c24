"""What goes wrong with the mask of attention."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import build, torch_softmax


def _filled(number: float, turn: Callable[[Tensor], Tensor] = stable_softmax) -> Function:
    return build(hide=lambda scores, mask: scores.masked_fill(~mask, number), turn=turn)


def _additive(scores: Tensor, mask: Tensor) -> Tensor:
    bias = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return scores + bias


def _hide_queries(scores: Tensor, mask: Tensor) -> Tensor:
    full = mask.expand(scores.shape)
    return scores.masked_fill(~full[..., :1], -torch.inf)


def _transposed(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask.mT, -torch.inf)


def _uniform(weights: Tensor, mask: Tensor) -> Tensor:
    return weights.nan_to_num(nan=1.0 / weights.shape[-1])


def _lowest(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


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
        ),
    ),
    Misconception(
        "NaN on an empty row",
        build(turn=torch_softmax),
        "A query that may see nothing got NaN: its maximum is -inf, and -inf - (-inf) is no "
        "number. What should it get?",
        also=(build(hide=_additive, turn=torch_softmax),),
    ),
    Misconception(
        "uniform on an empty row",
        _filled(-1e9),
        "A query that may see nothing got the mean of everything that it may not see: all its "
        "scores are equally low. What should it get?",
        also=(build(hide=_lowest), build(turn=torch_softmax, after=_uniform)),
    ),
    Misconception(
        "NaN repaired too late",
        build(hide=_additive, turn=lambda s: torch_softmax(s).nan_to_num()),
        "The values are right, but the gradient of a query that may see nothing is NaN: it was "
        "made on the way and replaced only afterwards. Can it be avoided instead?",
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
