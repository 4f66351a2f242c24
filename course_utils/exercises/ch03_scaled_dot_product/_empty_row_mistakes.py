"""What goes wrong with queries that may see nothing."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import (
    build,
    no_empty,
    torch_softmax,
)


def _filled(number: float, turn: Callable[[Tensor], Tensor] = stable_softmax) -> Function:
    return build(hide=lambda scores, mask: scores.masked_fill(~mask, number), turn=turn)


def _additive(scores: Tensor, mask: Tensor) -> Tensor:
    bias = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return scores + bias


def _any_empty(scores: Tensor) -> bool:
    return bool((scores == -torch.inf).all(-1).any())


def _uniform(weights: Tensor, mask: Tensor) -> Tensor:
    return weights.nan_to_num(nan=1.0 / weights.shape[-1])


def _lowest(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


EMPTY_ROWS = (
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
        "a large number added",
        build(hide=lambda s, m: s + (~m).to(s.dtype) * -1e9, turn=torch_softmax),
        "On a row that may see nothing, the large number stands at every key and cancels: hidden "
        "keys share as if there were no mask. What should such a row give?",
        also=(build(hide=lambda s, m: s + torch.where(m, 0.0, -1e9).to(s.dtype)),),
    ),
    Misconception(
        "mask used for empty rows only",
        build(hide=lambda s, m: s, after=no_empty),
        "Queries that may see nothing give zeros, but the others still attend to what is hidden "
        "from them. Where do single keys get hidden?",
    ),
    Misconception(
        "one empty row empties all",
        build(after=lambda w, m: w * (m.any(-1).all())),
        "One query that may see nothing turned all others to zeros. Each query is its own: over "
        "which axis is emptiness asked?",
        also=(build(turn=lambda s: torch.zeros_like(s) if _any_empty(s) else stable_softmax(s)),),
    ),
    Misconception(
        "the first key decides for the row",
        build(after=lambda w, m: w * m[..., :1]),
        "Queries that may not see the first key give zeros. Which rows may see nothing at all?",
        also=(build(after=lambda w, m: w * m[..., -1:]),),
    ),
)
