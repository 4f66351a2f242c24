"""What goes wrong in a softmax anywhere: the axis, the exponential, the sum."""

import math

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._softmaxes import (
    linear,
    one_hot,
    plain,
    powers_of,
    powers_only,
    scaled_by_some_factor,
    shifted_by,
    sum_without_keepdim,
)

MISTAKES = (
    Misconception(
        "softmax applied twice",
        lambda s: plain(stable_softmax(s)),
        "The weights are nearly even: a softmax was taken of what had been through one. How often "
        "are scores turned into shares?",
        also=(lambda s: stable_softmax(stable_softmax(s)),),
    ),
    Misconception(
        "one more in the denominator",
        lambda s: s.exp() / (1.0 + s.exp().sum(-1, keepdim=True)),
        "The row sums to less than 1, as if an invisible key with score 0 took a share too. What "
        "does the sum in the denominator run over?",
    ),
    Misconception(
        "length instead of sum",
        lambda s: torch.nn.functional.normalize(powers_of(s), dim=-1),
        "The squares of a row sum to 1, not the weights themselves. Which sum makes shares?",
    ),
    Misconception(
        "weights rounded",
        lambda s: stable_softmax(s).round(decimals=4) + 0.0 * s.nan_to_num(neginf=0.0),
        "The weights are rounded to a few digits. What reads them next has to work with the loss.",
        also=(
            lambda s: stable_softmax(s).round(decimals=3),
            lambda s: stable_softmax(s).round(decimals=2),
            lambda s: stable_softmax(s).round(decimals=6),
        ),
    ),
    Misconception(
        "random numbers inside",
        lambda s: torch.dropout(stable_softmax(s), 0.1, True),
        "Two calls with the same scores differ: something random, such as dropout, happens inside. "
        "Do the rows still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
        forbidden=False,
    ),
    Misconception(
        "softmax over the wrong axis",
        lambda s: stable_softmax(s.mT).mT,
        "The columns sum to 1, not the rows. Over which axis does one query divide its attention?",
        also=(
            lambda s: stable_softmax(s.movedim(0, -1)).movedim(-1, 0),
            lambda s: plain(s, 0),
            lambda s: plain(s, -2),
        ),
    ),
    Misconception(
        "axis counted from the front",
        lambda s: plain(s, 1),
        "It works for some numbers of axes only. Which axis number means 'the last one' "
        "whatever the shape?",
        also=(lambda s: stable_softmax(s.transpose(1, -1)).transpose(1, -1),),
    ),
    Misconception(
        "one softmax over everything",
        lambda s: stable_softmax(s.flatten()).view(s.shape),
        "All entries together sum to 1. Each row should: what must the sum run over?",
    ),
    Misconception(
        "the scores returned",
        lambda s: s.clone(),
        "These are the scores. What turns a row of numbers of any sign into shares of a whole?",
    ),
    Misconception(
        "never divided by the sum",
        torch.exp,
        "The rows do not sum to 1. What turns positive numbers into shares of a whole?",
        also=(
            powers_of,
            powers_only,
            lambda s: s.exp() / s.exp().amax(-1, keepdim=True),
        ),
    ),
    Misconception(
        "no exponential",
        linear,
        "The scores are divided by their sum as they are, so a negative score gives a "
        "negative share. What makes every score positive first?",
        also=(
            lambda s: s.abs() / s.abs().sum(-1, keepdim=True),
            lambda s: s.relu() / s.relu().sum(-1, keepdim=True),
            lambda s: s.square() / s.square().sum(-1, keepdim=True),
            lambda s: linear(s - s.amin(-1, keepdim=True)),
            lambda s: torch.nn.functional.normalize(s, dim=-1),
        ),
    ),
    Misconception(
        "another base than e",
        lambda s: stable_softmax(s * math.log(2.0)),
        "The weights are ordered rightly but too even or too sharp. Which base do the powers have?",
        also=(lambda s: stable_softmax(s * math.log(10.0)),),
    ),
    Misconception(
        "scores scaled first",
        lambda s: stable_softmax(s / math.sqrt(s.shape[-1])),
        "The weights are those of other scores. A softmax takes its scores as they are: what "
        "was divided before exp?",
        also=(
            lambda s: stable_softmax(s / s.shape[-1]),
            lambda s: stable_softmax(s / 8.0),
            lambda s: stable_softmax(s / s.amax(-1, keepdim=True)),
            lambda s: stable_softmax((s - s.mean(-1, keepdim=True)) / s.std(-1, keepdim=True)),
        ),
        fits=scaled_by_some_factor,
    ),
    Misconception(
        "sign of the scores flipped",
        lambda s: stable_softmax(-s),
        "The smallest score gets the largest weight. Which sign stands inside exp?",
        also=(lambda s: shifted_by(-s, (-s).amax(-1, keepdim=True)),),
    ),
    Misconception(
        "logarithm of the weights",
        lambda s: torch.log_softmax(s, -1),
        "These are logarithms of weights: they are negative. What is still to be done?",
    ),
    Misconception(
        "sigmoid instead of softmax",
        torch.sigmoid,
        "Each score is squashed on its own, so the row does not share 1 out. What must one "
        "weight know of the other scores?",
    ),
    Misconception(
        "all weight on the largest score",
        one_hot,
        "The largest score takes everything. A softmax is soft: how much should the second "
        "largest get?",
    ),
    Misconception(
        "without keepdim",
        sum_without_keepdim,
        "The maxima or the sums lost their axis, so they line up with the wrong axis of the "
        "scores. Which argument of `amax` and `sum` keeps it?",
        also=(lambda s: (s - s.amax(-1)).exp() / (s - s.amax(-1)).exp().sum(-1, keepdim=True),),
    ),
)
