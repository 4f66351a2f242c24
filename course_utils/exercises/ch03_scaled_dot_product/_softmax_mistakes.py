"""What goes wrong in a softmax: each mistake as something to run."""

import math

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._softmaxes import (
    clipped,
    global_shift_unguarded,
    linear,
    one_hot,
    plain,
    powers_only,
    shift_over_wrong_axis,
    shifted_by,
    sum_without_keepdim,
    uniform_when_empty,
    unshifted,
    with_epsilon,
)

INF = torch.inf

MISCONCEPTIONS = (
    Misconception(
        "no shift before exp",
        unshifted,
        "Small scores come out right, large ones do not: exp(10000) is more than any float "
        "holds. What may you subtract from a whole row without changing its weights?",
        also=(
            lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
            lambda s: shifted_by(s, s.nan_to_num(neginf=0.0).mean(-1, keepdim=True)),
            lambda s: shifted_by(s, s.amin(-1, keepdim=True)),
        ),
    ),
    Misconception(
        "scores clipped",
        lambda s: clipped(s, 80.0),
        "Two large scores that differ by 1 get the same weight. Is the difference between "
        "them lost before exp? Subtracting keeps differences, clipping does not.",
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
        "one maximum for the whole tensor",
        lambda s: shifted_by(s, s.amax()),
        "Rows far below the largest score of the tensor vanish: all their exponentials are 0. "
        "Whose maximum does a row need?",
        also=(global_shift_unguarded,),
    ),
    Misconception(
        "maximum over the wrong axis",
        shift_over_wrong_axis,
        "The shift differs inside one row, so it does not cancel. Over which axis must the "
        "maximum be taken?",
        also=(lambda s: shifted_by(s, s.amax(-2, keepdim=True)),),
    ),
    Misconception(
        "NaN on an empty row",
        plain,
        "A row of -inf became NaN: its maximum is -inf too, and -inf - (-inf) is no number. "
        "What should a row that may choose nothing give?",
    ),
    Misconception(
        "uniform on an empty row",
        uniform_when_empty,
        "A row of -inf became uniform weights: it attends to everything that it may not see. "
        "What should a row that may choose nothing give?",
        also=(lambda s: plain(s).nan_to_num(nan=1.0 / s.shape[-1]),),
    ),
    Misconception(
        "NaN repaired too late",
        lambda s: plain(s).nan_to_num(),
        "The values are right, but the gradient of an empty row is NaN: it was made on the "
        "way and replaced only afterwards. Can the NaN be avoided instead of repaired?",
        also=(lambda s: torch.where((s == -INF).all(-1, keepdim=True), 0.0, plain(s)),),
    ),
    Misconception(
        "never divided by the sum",
        torch.exp,
        "The rows do not sum to 1. What turns positive numbers into shares of a whole?",
        also=(
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
            lambda s: stable_softmax(s / s.amax(-1, keepdim=True)),
            lambda s: stable_softmax((s - s.mean(-1, keepdim=True)) / s.std(-1, keepdim=True)),
        ),
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
        "epsilon in the denominator",
        lambda s: with_epsilon(s, 1e-6),
        "The rows sum to a little less than 1, since something small is added to every "
        "denominator. Which rows need help, and which are safe as they are?",
        also=(
            lambda s: with_epsilon(s, 1e-3),
            lambda s: with_epsilon(s, 1e-4),
            lambda s: with_epsilon(s, 1e-5),
        ),
    ),
    Misconception(
        "sum without keepdim",
        sum_without_keepdim,
        "The sums lost their axis, so they line up with the wrong axis of the scores. Which "
        "argument of `sum` keeps it?",
    ),
)
