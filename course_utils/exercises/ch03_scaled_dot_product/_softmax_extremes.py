"""What goes wrong in a softmax with extreme scores and with rows of -inf."""

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._softmaxes import (
    bare_shift,
    clipped,
    emptied,
    global_shift_unguarded,
    plain,
    shift_over_wrong_axis,
    shifted_by,
    uniform_when_empty,
    unshifted,
    with_epsilon,
)

INF = torch.inf

EXTREMES = (
    Misconception(
        "no shift before exp",
        unshifted,
        "Ordinary scores come out right, extreme ones do not: exp(10000) is more than any float "
        "holds, and exp(-900) is 0. What may you subtract from a whole row without changing its "
        "weights?",
        also=(lambda s: s.exp() / s.exp().sum(-1, keepdim=True),),
    ),
    Misconception(
        "shifted by something else than the maximum",
        lambda s: shifted_by(s, s.nan_to_num(neginf=0.0).mean(-1, keepdim=True)),
        "A shift is there, but it leaves exponents that are too large or far too low: some rows "
        "are lost. Which number of a row makes all its exponents 0 or less, and one of them 0?",
        also=(
            lambda s: shifted_by(s, s.amin(-1, keepdim=True)),
            lambda s: shifted_by(s, s.abs().amax(-1, keepdim=True)),
            lambda s: bare_shift(s, s.abs().amax(-1, keepdim=True)),
            lambda s: shifted_by(s, s.amax(-1, keepdim=True).clamp(min=0.0)),
            lambda s: bare_shift(s, s.amax(-1, keepdim=True).clamp(min=0.0)),
            lambda s: bare_shift(s, s.mean(-1, keepdim=True)),
            lambda s: bare_shift(s, s.amin(-1, keepdim=True)),
            lambda s: bare_shift(s, -s.amax(-1, keepdim=True)),
            lambda s: bare_shift(s, s.median(-1, keepdim=True).values),
        ),
    ),
    Misconception(
        "shift in one half of the fraction only",
        lambda s: (s - s.amax(-1, keepdim=True)).exp() / s.exp().sum(-1, keepdim=True),
        "The shift stands above the fraction line or below it, but not in both places, so it does "
        "not cancel. Which exponentials must be the same ones?",
        also=(lambda s: s.exp() / (s - s.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True),),
    ),
    Misconception(
        "low scores taken for -inf",
        lambda s: emptied(s, s.amax(-1, keepdim=True) <= -1e3),
        "A row of low scores was treated as one that may choose nothing. Only -inf means that: "
        "which test asks for exactly it?",
        also=(lambda s: emptied(s, s.amax(-1, keepdim=True) < -1e4),),
    ),
    Misconception(
        "one -inf empties the row",
        lambda s: emptied(s, s.isinf().any(-1, keepdim=True)),
        "A row with some scores of -inf became all zeros, though it has others to choose from. "
        "Which rows may choose nothing: those with one -inf, or with nothing else?",
        also=(
            lambda s: emptied(s, s[..., :1].isinf()),
            lambda s: emptied(s, s[..., -1:].isinf()),
        ),
    ),
    Misconception(
        "one row of -inf empties all",
        lambda s: emptied(s, (s == -INF).all(-1).any()),
        "One row that may choose nothing turned the others to zeros as well. Each row is its own: "
        "over which axis is emptiness asked?",
    ),
    Misconception(
        "-inf read as an ordinary score",
        lambda s: plain(s.nan_to_num(neginf=0.0)),
        "A score of -inf became an ordinary one and got a weight. What weight does exp(-inf) give?",
    ),
    Misconception(
        "scores clipped",
        lambda s: clipped(s, 80.0),
        "Two large scores that differ by 1 get the same weight. Is the difference between "
        "them lost before exp? Subtracting keeps differences, clipping does not.",
        also=(
            lambda s: stable_softmax(s.clamp(-50.0, 50.0)),
            lambda s: plain(s.clamp(-50.0, 50.0)),
        ),
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
        "epsilon in the denominator",
        lambda s: with_epsilon(s, 1e-6),
        "The rows sum to a little less than 1, since something small is added to every "
        "denominator. Which rows need help, and which are safe as they are?",
        also=(
            lambda s: with_epsilon(s, 1e-3),
            lambda s: with_epsilon(s, 1e-4),
            lambda s: with_epsilon(s, 1e-5),
            lambda s: with_epsilon(s, 1e-2),
        ),
    ),
)
