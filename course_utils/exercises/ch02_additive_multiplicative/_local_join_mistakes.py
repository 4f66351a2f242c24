"""What goes wrong where softmax and Gaussian meet in local-p attention."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch02_additive_multiplicative._local_wrong import build, gauss


def _divided(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True)


def _joined(join: Any) -> Function:
    return build(join=join)


JOIN = (
    Misconception(
        "renormalised",
        build(finish=_divided),
        "Each row was made to sum to 1 again. Luong leaves the product as it is: what would a row "
        "say whose centre lies far from every key?",
        also=(
            build(finish=lambda w: w / (w.sum(-1, keepdim=True) + 1e-9)),
            build(finish=lambda w: w / w.sum(-1, keepdim=True).clamp(min=1e-9)),
            build(finish=lambda w: torch.softmax(w, -1)),
            build(fade=lambda far, s: _divided(gauss(far, s))),
            _joined(lambda s, f: stable_softmax(s + f.log())),
        ),
    ),
    Misconception(
        "the Gaussian inside the softmax",
        _joined(lambda s, f: stable_softmax(s * f)),
        "The Gaussian was put to the scores before the softmax. A score of 0 still gets a share: "
        "which of the two comes last?",
        also=(
            _joined(lambda s, f: stable_softmax(s + f)),
            _joined(lambda s, f: stable_softmax(s - f)),
        ),
    ),
    Misconception(
        "added instead of multiplied",
        _joined(lambda s, f: stable_softmax(s) + f),
        "The Gaussian was added to the weights. What lets a factor near 0 silence a key?",
        also=(
            _joined(lambda s, f: (stable_softmax(s) + f) / 2),
            _joined(lambda s, f: stable_softmax(s) - f),
        ),
    ),
    Misconception(
        "the Gaussian alone",
        _joined(lambda s, f: f + 0.0 * stable_softmax(s)),
        "The scores play no part: only the place counts. What are the two factors?",
        also=(_joined(lambda s, f: f), _joined(lambda s, f: stable_softmax(f))),
    ),
    Misconception(
        "the scores alone",
        _joined(lambda s, f: stable_softmax(s) + 0.0 * f),
        "The centre plays no part: this is global attention. What are the two factors?",
        also=(_joined(lambda s, f: stable_softmax(s)),),
    ),
    Misconception(
        "no softmax",
        _joined(lambda s, f: s * f),
        "The Gaussian damps the raw scores. What makes shares of them first?",
        also=(_joined(lambda s, f: s.exp() * f), _joined(lambda s, f: s.sigmoid() * f)),
    ),
    Misconception(
        "no shift before exp",
        _joined(lambda s, f: s.exp() / s.exp().sum(-1, keepdim=True) * f),
        "Scores in the thousands give NaN: their exponentials overflow. What does a stable softmax "
        "subtract first?",
    ),
    Misconception(
        "softmax over the queries",
        _joined(lambda s, f: torch.softmax(s, -2) * f),
        "The softmax ran over the wrong axis. Along which one does a query choose?",
        also=(
            _joined(lambda s, f: torch.softmax(s, 0) * f),
            _joined(lambda s, f: stable_softmax(s.flatten(1)).view(s.shape) * f),
        ),
    ),
    Misconception(
        "scaled",
        _joined(lambda s, f: stable_softmax(s / math.sqrt(s.shape[-1])) * f),
        "The scores were divided by something before the softmax. They are taken as given here.",
        also=(_joined(lambda s, f: stable_softmax(s / s.shape[-1]) * f),),
    ),
)
