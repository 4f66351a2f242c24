"""What goes wrong on the way from scores to weights: the scale and the softmax.

Both exercises on attention share these. `make` builds a function of the exercise's own signature
with some of its steps exchanged.
"""

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


def scale_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes with the scale."""
    return (
        Misconception(
            "no scale",
            make(factor=lambda q, k, v: 1.0),
            "The weights are those of unscaled scores: too sharp, and sharper still with a larger "
            "width. By what does q·k grow with d_k?",
        ),
        Misconception(
            "divided by d_k",
            make(factor=lambda q, k, v: 1 / q.shape[-1]),
            "The weights are too even: the scores are divided by too much. d_k is the variance of "
            "q·k; what is its standard deviation?",
        ),
        Misconception(
            "multiplied by the root of d_k",
            make(factor=lambda q, k, v: math.sqrt(q.shape[-1])),
            "The scale makes the scores larger, not smaller. Which way should it push them?",
            also=(make(factor=lambda q, k, v: float(q.shape[-1])),),
        ),
        Misconception(
            "the root of the wrong size",
            make(factor=lambda q, k, v: 1 / math.sqrt(k.shape[-2])),
            "The scale is a root, but not of the width of query and key. Over how many products "
            "does one score sum?",
            also=(
                make(factor=lambda q, k, v: 1 / math.sqrt(q.shape[-2])),
                make(factor=lambda q, k, v: 1 / math.sqrt(q.shape[0])),
                make(factor=lambda q, k, v: 1 / math.sqrt(q.shape[1])),
                make(factor=lambda q, k, v: 1 / k.shape[-2]),
                make(factor=lambda q, k, v: 1 / math.sqrt(2 * q.shape[-1])),
                make(factor=lambda q, k, v: q.shape[-1] ** -0.25),
            ),
        ),
        Misconception(
            "scale after softmax",
            make(scale_last=True),
            "The weights of a row sum to the scale, not to 1: it was applied to the weights "
            "themselves. Which numbers is it meant to keep small?",
        ),
        Misconception(
            "a scale of 0.0 taken for none",
            make(pick=lambda given, right: given or right),
            "scale=0.0 was replaced by the default. In Python 0.0 is false: what does `scale or "
            "...` do with it, and what asks for None alone?",
        ),
        Misconception(
            "scale divides",
            make(pick=lambda given, right: right if given is None else 1 / (given or 1e-30)),
            "A given scale divides the scores here. It is a factor, as PyTorch's is: what does "
            "scale=0.3 do to a score of 1?",
        ),
        Misconception(
            "scale on top of the default",
            make(pick=lambda given, right: right if given is None else given * right),
            "A given scale and 1/√d_k are both applied. Which one should stand when the caller "
            "gives a scale?",
        ),
        Misconception(
            "scale ignored",
            make(pick=lambda given, right: right),
            "A given scale changes nothing. Where is the argument used?",
        ),
    )


def softmax_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes with the softmax."""
    return (
        Misconception(
            "softmax over the queries",
            make(turn=over_columns(stable_softmax)),
            "The columns of the weights sum to 1, not the rows: keys choose among queries. Who "
            "shares its attention out among whom?",
            also=(make(turn=over_columns(torch_softmax)),),
        ),
        Misconception(
            "softmax over the first axis",
            make(turn=lambda s: torch.softmax(s, 0)),
            "The weights sum to 1 over the first axis: over the batch, where there is one. Which "
            "axis holds the keys, counted from the end?",
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
