"""What goes wrong on the way from masked scores to weights."""

import math

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._attend_wrong import (
    build,
    divided,
    divided_safely,
    divided_with,
    one_hot,
    torch_softmax,
)


def _unshifted(scores: Tensor) -> Tensor:
    powers = scores.exp()
    return powers / powers.sum(-1, keepdim=True)


def _over_all(scores: Tensor) -> Tensor:
    return stable_softmax(scores.flatten(1)).view(scores.shape)


def _none(scores: Tensor) -> Tensor:
    return scores


SOFTMAX = (
    Misconception(
        "random numbers inside",
        build(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens "
        "inside. Do the rows still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
    ),
    Misconception(
        "softmax over the queries",
        build(turn=lambda s: stable_softmax(s.mT).mT),
        "The columns of the weights sum to 1, not the rows: keys choose among queries. Who shares "
        "its attention out among whom?",
        also=(
            build(turn=lambda s: torch.softmax(s, -2)),
            build(turn=lambda s: torch.softmax(s, 1)),
        ),
    ),
    Misconception(
        "softmax over the batch",
        build(turn=lambda s: torch.softmax(s, 0)),
        "The weights sum to 1 over the sequences of the batch. Which axis holds the keys?",
    ),
    Misconception(
        "one softmax over all pairs",
        build(turn=_over_all),
        "All pairs together share 1 out. Each query has 1 of its own to give: what must the sum "
        "run over?",
        also=(build(turn=lambda s: stable_softmax(s.flatten()).view(s.shape)),),
    ),
    Misconception(
        "no softmax",
        build(turn=lambda s: s.masked_fill(s == -torch.inf, 0.0)),
        "The raw scores are used as weights. What turns a row of scores into shares?",
        also=(build(turn=lambda s: s), build(turn=torch.exp)),
    ),
    Misconception(
        "no exponential",
        build(turn=lambda s: s / s.sum(-1, keepdim=True)),
        "Scores were divided by their sum as they are, so weights can be negative. What makes "
        "every score positive first?",
        also=(
            build(turn=lambda s: s.relu() / s.relu().sum(-1, keepdim=True)),
            build(turn=lambda s: s.abs() / s.abs().sum(-1, keepdim=True)),
            *(
                build(hide=lambda s, m: s, turn=turn, after=after)
                for turn in (_none, torch.relu, torch.abs, torch.square)
                for after in (divided, divided_safely)
            ),
        ),
    ),
    Misconception(
        "softmax applied twice",
        build(turn=lambda s: torch.softmax(torch.softmax(s, -1), -1)),
        "The weights are far too even: a softmax was applied to weights. How many are needed?",
    ),
    Misconception(
        "scaled",
        build(turn=lambda s: stable_softmax(s / math.sqrt(s.shape[-1]))),
        "The scores were divided by something before the softmax. They are taken as given here: "
        "the scoring function has had its say.",
        also=(
            build(turn=lambda s: stable_softmax(s / s.shape[-1])),
            lambda s, v, m: build()(s / math.sqrt(v.shape[-1]), v, m),
            lambda s, v, m: build()(s / v.shape[-1], v, m),
        ),
    ),
    Misconception(
        "no shift before exp",
        build(turn=_unshifted),
        "Scores in the thousands give NaN: their exponentials overflow. What does a stable softmax "
        "subtract first?",
        also=(
            build(turn=lambda s: s.exp() / s.exp().sum(-1, keepdim=True).clamp(min=1e-30)),
            *(
                build(hide=lambda s, m: s, turn=torch.exp, after=after)
                for after in (divided, divided_safely, divided_with(1e-9), divided_with(1e-12))
            ),
        ),
    ),
    Misconception(
        "all weight on the best key",
        build(turn=one_hot),
        "Each query takes everything from its best key. Softmax is soft: what should the others "
        "get?",
    ),
    Misconception(
        "sigmoid instead of softmax",
        build(turn=torch.sigmoid),
        "Each score is squashed on its own, so the weights do not sum to 1. What must a weight "
        "know of the other scores of its row?",
        also=(
            build(turn=torch.tanh),
            build(hide=lambda s, m: s, turn=torch.sigmoid, after=divided),
            build(hide=lambda s, m: s, turn=torch.sigmoid, after=divided_safely),
        ),
    ),
    Misconception(
        "sign of the scores flipped",
        build(turn=lambda s: stable_softmax(torch.where(s == -torch.inf, s, -s))),
        "The worst key gets the largest weight. Which sign do the scores have?",
        also=(build(turn=lambda s: torch_softmax(-s)),),
    ),
    Misconception(
        "logarithm of the weights",
        build(turn=lambda s: torch.log_softmax(s, -1)),
        "The logarithms of the weights are used as weights. What is still to be done?",
    ),
)
