"""What goes wrong between scores and weights. `make` is as in `_scale_mistakes`."""

import math
from collections.abc import Callable

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import (
    one_hot,
    over_columns,
    over_pairs,
    torch_softmax,
)
from course_utils.exercises.ch03_scaled_dot_product._softmaxes import unshifted


def softmax_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes with the softmax."""
    return (
        Misconception(
            "softmax over the queries",
            make(turn=over_columns(stable_softmax)),
            "The columns of the weights sum to 1, not the rows: keys choose among queries. Who "
            "shares its attention out among whom?",
            also=(
                make(turn=over_columns(torch_softmax)),
                make(turn=over_columns(stable_softmax), factor=lambda q, k, v: 1.0),
                make(turn=over_columns(stable_softmax), factor=lambda q, k, v: 1 / q.shape[-1]),
            ),
        ),
        Misconception(
            "softmax over an axis counted from the front",
            make(turn=lambda s: torch.softmax(s, 0)),
            "The weights sum to 1 over an axis that is the right one for some numbers of axes "
            "only. Which axis holds the keys, counted from the end?",
            also=(
                make(turn=lambda s: torch.softmax(s, 1)),
                make(turn=lambda s: torch.softmax(s, 2)),
            ),
        ),
        Misconception(
            "one softmax over all pairs",
            make(turn=over_pairs),
            "All pairs together share 1 out. Each query has 1 of its own to give: what must the "
            "sum run over?",
            also=(make(turn=lambda s: stable_softmax(s.flatten()).view(s.shape)),),
        ),
        Misconception(
            "no softmax",
            make(turn=lambda s: s),
            "The raw scores are used as weights. What turns a row of scores into shares?",
            also=(make(turn=torch.exp),),
        ),
        Misconception(
            "no exponential",
            make(turn=lambda s: s / s.sum(-1, keepdim=True)),
            "Scores were divided by their sum as they are, so weights can be negative. What makes "
            "every score positive first?",
            also=(
                make(turn=lambda s: s.relu() / s.relu().sum(-1, keepdim=True)),
                make(turn=lambda s: s.abs() / s.abs().sum(-1, keepdim=True)),
            ),
        ),
        Misconception(
            "relu before the softmax",
            make(turn=lambda s: stable_softmax(torch.where(s == -torch.inf, s, s.relu()))),
            "All negative scores count as 0. A softmax takes scores of any sign: what did the relu "
            "throw away?",
            also=(make(turn=lambda s: stable_softmax(s.relu())),),
        ),
        Misconception(
            "softmax applied twice",
            make(turn=lambda s: stable_softmax(stable_softmax(s))),
            "The weights are nearly even: a softmax was taken of what had been through one. How "
            "often are scores turned into shares?",
        ),
        Misconception(
            "all weight on the best key",
            make(turn=one_hot),
            "Each query takes everything from its best key. Softmax is soft: what "
            "should the others get?",
        ),
        Misconception(
            "sigmoid instead of softmax",
            make(turn=torch.sigmoid),
            "Each score is squashed on its own, so the weights do not sum to 1. What must a weight "
            "know of the other scores of its row?",
        ),
        Misconception(
            "no shift before exp",
            make(turn=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),
            "Scores in the thousands give NaN: their exponentials overflow. What does a stable "
            "softmax subtract first?",
            also=(make(turn=unshifted),),
        ),
        Misconception(
            "sign of the scores flipped",
            make(turn=lambda s: stable_softmax(torch.where(s == -torch.inf, s, -s))),
            "The worst key gets the largest weight. Which sign do the scores have?",
            also=(make(factor=lambda q, k, v: -1 / math.sqrt(q.shape[-1])),),
        ),
        Misconception(
            "logarithm of the weights",
            make(turn=lambda s: torch.log_softmax(s, -1)),
            "The logarithms of the weights are used as weights. What is still to be done?",
        ),
    )
