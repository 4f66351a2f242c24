"""What goes wrong when whole sequences are compared: each mistake as something to run."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch01_bottleneck._match_padding_mistakes import PADDING
from course_utils.exercises.ch01_bottleneck._match_wrong import by, share


def _of_rows(number: Any) -> Function:
    """Return a number made of the right answers, one for each sequence."""
    return lambda p, t, pad: number(((p == t) | (t == pad)).all(1))


def _token_accuracy(p: Tensor, t: Tensor, pad: int) -> float:
    real = t != pad
    return float(((p == t) & real).sum() / real.sum().clamp(min=1))


def _mean_of_shares(p: Tensor, t: Tensor, pad: int) -> Tensor:
    real = t != pad
    return ((p == t) & real).sum(1) / real.sum(1).clamp(min=1)


def _sorted_alike(p: Tensor, t: Tensor, pad: int) -> Tensor:
    hidden = p.masked_fill(t == pad, pad)
    return (hidden.sort(1).values == t.sort(1).values).all(1)


def _position(index: int) -> Function:
    return by(lambda p, t, pad: ((p == t) | (t == pad))[:, index])


SHARE = (
    Misconception(
        "accuracy of tokens, not of sequences",
        _token_accuracy,
        "Each token counts on its own. A date with one wrong digit is a wrong date: what must be "
        "true of all tokens of a sequence?",
        also=(
            lambda p, t, pad: float((p == t)[t != pad].double().mean()),
            by(lambda p, t, pad: p == t),
            lambda p, t, pad: float(((p == t) & (t != pad)).double().sum() / (t != pad).sum()),
            lambda p, t, pad: float(((p == t) & (t != pad)).double().mean()),
        ),
    ),
    Misconception(
        "padding counted as right tokens",
        by(lambda p, t, pad: (p == t) | (t == pad)),
        "Each token counts on its own, and the padding counts among the right ones: the more "
        "padding, the better. What must be true of all tokens of a sequence?",
    ),
    Misconception(
        "mean of each sequence's share",
        by(_mean_of_shares),
        "A sequence that is nearly right counts nearly 1. Here it counts 0: all or nothing.",
        also=(
            lambda p, t, pad: float((((p == t) & (t != pad)).sum(1) / (t != pad).sum(1)).mean()),
        ),
    ),
    Misconception(
        "one right token is enough",
        by(lambda p, t, pad: ((p == t) & (t != pad)).any(1)),
        "A sequence with a single right token was called right. How many of its tokens must be?",
        also=(
            by(lambda p, t, pad: (p == t).any(1)),
            by(lambda p, t, pad: ((p == t) | (t == pad)).any(1)),
        ),
    ),
    Misconception(
        "nearly right is enough",
        by(lambda p, t, pad: _mean_of_shares(p, t, pad) >= 0.5),
        "A sequence with some wrong tokens was called right. How many of its tokens may be wrong?",
        also=(
            by(lambda p, t, pad: _mean_of_shares(p, t, pad) > 0.5),
            by(lambda p, t, pad: (p == t).sum(1) >= (t != pad).sum(1)),
        ),
    ),
    Misconception(
        "positions instead of sequences",
        by(lambda p, t, pad: ((p == t) | (t == pad)).all(0)),
        "The answer is the share of positions at which every sequence is right. Which axis runs "
        "along one sequence?",
        also=(by(lambda p, t, pad: (p == t).all(0)),),
    ),
    Misconception(
        "all sequences or none",
        by(lambda p, t, pad: ((p == t) | (t == pad)).all()),
        "One wrong sequence makes the whole answer 0. Each sequence counts on its own. If you "
        "divide with `//`: which division keeps the digits?",
        also=(
            _of_rows(lambda right: int(right.sum()) // len(right)),
            by(lambda p, t, pad: (p == t).all()),
        ),
    ),
    Misconception(
        "one position instead of all",
        _position(-1),
        "One position decides for the whole sequence. Which of its tokens must be right?",
        also=(
            _position(0),
            by(lambda p, t, pad: (p == t)[:, -1]),
            by(lambda p, t, pad: (p == t)[:, 0]),
        ),
    ),
    Misconception(
        "the order of the tokens ignored",
        by(_sorted_alike),
        "The right tokens in the wrong places were called right. Is 01-02 the same date as 02-01?",
        also=(
            by(
                lambda p, t, pad: (
                    p.masked_fill(t == pad, 0).sum(1) == t.masked_fill(t == pad, 0).sum(1)
                )
            ),
        ),
    ),
    Misconception(
        "a number of sequences, not a share",
        _of_rows(lambda right: float(right.sum())),
        "This counts the right sequences. What is the count to be divided by?",
        also=(_of_rows(lambda right: int(right.sum())),),
    ),
    Misconception(
        "percent",
        _of_rows(lambda right: 100 * share(right)),
        "The answer is a hundred times too large. A share of everything is 1.",
        also=(_of_rows(lambda right: round(100 * share(right), 2)),),
    ),
    Misconception(
        "the share of wrong sequences",
        _of_rows(lambda right: 1 - share(right)),
        "This is the share that is wrong. Which share is asked for?",
        also=(lambda p, t, pad: share((p != t).all(1)), lambda p, t, pad: share((p != t).any(1))),
    ),
    Misconception(
        "divided by another number",
        lambda p, t, pad: float(((p == t) | (t == pad)).all(1).sum()) / t.shape[1],
        "The right sequences were divided by something else than the number of sequences. How "
        "many sequences are there?",
        also=(
            lambda p, t, pad: float(((p == t) | (t == pad)).all(1).sum()) / t.numel(),
            lambda p, t, pad: float(((p == t) | (t == pad)).all(1).sum() / (t != pad).sum()),
        ),
    ),
    Misconception(
        "rounded",
        _of_rows(lambda right: round(share(right))),
        "The share lost its digits: `round` does that. Give it as it is.",
        also=(
            _of_rows(lambda right: round(share(right), 1)),
            _of_rows(lambda right: round(share(right), 2)),
            _of_rows(lambda right: round(share(right), 3)),
            _of_rows(lambda right: round(share(right), 4)),
        ),
    ),
)

MISCONCEPTIONS = (*PADDING, *SHARE)
