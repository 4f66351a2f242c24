"""What goes wrong in a masked softmax with empty rows, with the softmax itself, and the dtype."""

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._masked_softmaxes import (
    INF,
    add,
    build,
    by_hand,
    divided_with,
    fill,
    hide,
    lowest,
    no_empty,
    nothing,
    plain,
)


def _uniform(weights: Tensor, mask: Tensor) -> Tensor:
    return weights.nan_to_num(nan=1.0 / weights.shape[-1])


def _repaired(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.any(-1, keepdim=True), plain(scores + add(-INF)(scores, mask)), 0.0)


def _all_or_nothing(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.zeros_like(scores) if not mask.any(-1).all() else plain(hide(scores, mask))


def _first_if_empty(scores: Tensor, mask: Tensor) -> Tensor:
    return ~mask.any(-1, keepdim=True) & (torch.arange(scores.shape[-1]) == 0)


def _peak(scores: Tensor, mask: Tensor) -> Tensor:
    peak = hide(scores, mask).amax(-1, keepdim=True)
    return peak.masked_fill(peak == -INF, 0.0)


def _low_rows_emptied(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = hide(scores, mask)
    return stable_softmax(hidden) * (hidden.amax(-1, keepdim=True) > -1e4)


ROWS = (
    Misconception(
        "NaN on an empty row",
        build(turn=plain),
        "A query that may see nothing got NaN: its maximum is -inf, and -inf - (-inf) is no "
        "number. What should it get?",
        also=(build(turn=plain, after=no_empty),),
    ),
    Misconception(
        "uniform on an empty row",
        build(hide=fill(-1e9)),
        "A query that may see nothing got the mean of everything that it may not see: all its "
        "scores are equally low. What should it get?",
        also=(
            build(hide=fill(-1e9), turn=plain),
            build(hide=lowest, turn=plain),
            build(turn=plain, after=_uniform),
        ),
    ),
    Misconception(
        "as if there were no mask on an empty row",
        build(hide=add(-1e9), turn=plain),
        "On a row that may see nothing, the same number was added to every score and cancels: "
        "hidden keys share as if there were no mask. What should such a row give?",
        also=(
            build(hide=lambda s, m: hide(s, m | ~m.any(-1, keepdim=True)), turn=plain),
            build(hide=lambda s, m: s + (1 - m.to(s.dtype)) * -1e9, turn=plain),
        ),
    ),
    Misconception(
        "NaN repaired too late",
        build(hide=add(-INF), turn=lambda s: plain(s).nan_to_num()),
        "The values are right, but the gradient of a query that may see nothing is NaN: it was "
        "made on the way and replaced only afterwards. Can it be avoided instead?",
        also=(_repaired,),
    ),
    Misconception(
        "a key given to an empty row",
        build(hide=lambda s, m: hide(s, m | _first_if_empty(s, m)), turn=plain),
        "A query that may see nothing was given one key, so that its row is not empty: now it "
        "attends to something hidden. What should it get?",
        also=(build(hide=lambda s, m: hide(s, m | (torch.arange(s.shape[-1]) == 0))),),
    ),
    Misconception(
        "mask used for empty rows only",
        build(hide=nothing, after=no_empty),
        "Queries that may see nothing give zeros, but the others still attend to what is hidden "
        "from them. Where do single keys get hidden?",
    ),
    Misconception(
        "one empty row empties all",
        _all_or_nothing,
        "One query that may see nothing turned all others to zeros. Each query is its own: over "
        "which axis is emptiness asked?",
        also=(build(after=lambda w, m: w * m.any(-1).all()),),
    ),
    Misconception(
        "one hidden key empties the row",
        build(after=lambda w, m: w * m.all(-1, keepdim=True)),
        "Queries that may see some keys and not others give zeros. Which rows may see nothing at "
        "all: is it `any` or `all`?",
        also=(
            build(after=lambda w, m: w * m[..., :1]),
            build(after=lambda w, m: w * m[..., -1:]),
        ),
    ),
    Misconception(
        "low scores taken for an empty row",
        _low_rows_emptied,
        "A row of low scores was treated as one that may see nothing. Who says which row is empty, "
        "the scores or the mask?",
    ),
    Misconception(
        "no shift before exp",
        by_hand(lambda s, m: torch.zeros_like(s)),
        "Ordinary scores come out right, extreme ones do not: exp(10000) is more than any float "
        "holds. What may you subtract from a whole row without changing its weights?",
        also=(
            lambda s, m: (s.exp() * m) / (s.exp() * m).sum(-1, keepdim=True),
            lambda s, m: (s.exp() * m) / ((s.exp() * m).sum(-1, keepdim=True) + 1e-9),
            build(turn=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),
        ),
    ),
    Misconception(
        "one maximum for the whole tensor",
        by_hand(lambda s, m: s.amax()),
        "Rows far below the largest score of the tensor vanish: all their exponentials are 0. "
        "Whose maximum does a row need?",
        also=(
            by_hand(lambda s, m: s.amax(), 1e-9),
            by_hand(lambda s, m: hide(s, m).amax()),
            by_hand(lambda s, m: hide(s, m).amax(), 1e-9),
        ),
    ),
    Misconception(
        "epsilon in the denominator",
        by_hand(_peak, 1e-6),
        "The rows sum to a little less than 1, since something small is added to every "
        "denominator. Which rows need help, and which are safe as they are?",
        also=(by_hand(_peak, 1e-5), by_hand(_peak, 1e-4), build(after=divided_with(1e-6))),
    ),
)
