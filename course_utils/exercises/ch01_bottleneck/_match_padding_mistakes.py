"""What goes wrong with padding when whole sequences are compared."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch01_bottleneck._match_wrong import by, share


def _right_where_real(p: Tensor, t: Tensor, pad: int) -> Tensor:
    return ((p == t) & (t != pad)).all(1)


def _ended(tokens: Tensor, pad: int) -> Tensor:
    return (tokens == pad).cumsum(1) > 0


def _as_many_as_real(p: Tensor, t: Tensor, pad: int) -> Tensor:
    real = torch.arange(t.shape[1]) < (t != pad).sum(1, keepdim=True)
    return ((p == t) | ~real).all(1)


def _without_empty(p: Tensor, t: Tensor, pad: int) -> float:
    kept = (t != pad).any(1)
    right = ((p == t) | (t == pad)).all(1)
    return share(right[kept]) if bool(kept.any()) else 0.0


PADDING = (
    Misconception(
        "padding must be predicted too",
        by(lambda p, t, pad: (p == t).all(1)),
        "A sequence that is right at every real token was called wrong for what it has past the "
        "end. Which positions may not decide?",
        also=(
            lambda p, t, pad: sum(torch.equal(a, b) for a, b in zip(p, t, strict=True)) / len(t),
        ),
    ),
    Misconception(
        "padding counted as wrong",
        by(_right_where_real),
        "Every sequence with padding was called wrong: a padded position can never be 'right and "
        "real'. Should it count against a sequence?",
        also=(by(lambda p, t, pad: (p * (t != pad) == t).all(1) & (t != pad).all(1)),),
    ),
    Misconception(
        "padding looked for in the prediction",
        by(lambda p, t, pad: ((p == t) | (p == pad)).all(1)),
        "A model that predicts padding everywhere would be called right. Who knows where a "
        "sequence ends, the target or the prediction?",
        also=(
            by(lambda p, t, pad: ((p == t) | (p == pad) | (t == pad)).all(1)),
            by(lambda p, t, pad: ((p == t) | _ended(p, pad)).all(1)),
        ),
    ),
    Misconception(
        "only where the target is padding",
        by(lambda p, t, pad: ((p == t) | (t != pad)).all(1)),
        "The real tokens are left out, and the padding is compared. Which of `==` and `!=` picks "
        "the positions that count?",
        also=(by(lambda p, t, pad: (t == pad).all(1)),),
    ),
    Misconception(
        "pad_id not used",
        by(lambda p, t, pad: ((p == t) | (t == 0)).all(1)),
        "Padding is not always 0. Which argument says what it is?",
        also=(
            by(lambda p, t, pad: ((p == t) | (t <= 0)).all(1)),
            by(lambda p, t, pad: ((p == t) | (t < 0)).all(1)),
            by(lambda p, t, pad: ((p == t) | (t == -100)).all(1)),
        ),
    ),
    Misconception(
        "everything after the first padding ignored",
        by(lambda p, t, pad: ((p == t) | _ended(t, pad)).all(1)),
        "Tokens behind a padding were not compared. Padding may stand anywhere: position by "
        "position, what does the target say there?",
        also=(by(_as_many_as_real),),
    ),
    Misconception(
        "a target of padding alone counts as wrong",
        lambda p, t, pad: share(((p == t) | (t == pad)).all(1) & (t != pad).any(1)),
        "A target without any real token was counted as wrong. At how many positions does the "
        "prediction differ from it where it counts?",
        also=(by(lambda p, t, pad: ((((p == t) & (t != pad)).sum(1)) / (t != pad).sum(1)) == 1),),
    ),
    Misconception(
        "targets of padding alone left out",
        _without_empty,
        "Sequences whose target is only padding were not counted at all. The share is of all "
        "sequences: such a one counts as right.",
        also=(
            lambda p, t, pad: float(
                (((p == t) | (t == pad)).all(1) & (t != pad).any(1)).sum() / (t != pad).any(1).sum()
            ),
        ),
    ),
)
