"""Exercise: the share of sequences that are right from end to end."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, Exercise, Property
from course_utils.checking.inputs import strided
from course_utils.exercises.ch01_bottleneck._match_mistakes import MISCONCEPTIONS
from course_utils.measure.accuracy import exact_match

_TOKENS = 7  # real tokens are 1 to 7


def _tokens(g: torch.Generator, batch: int, steps: int) -> Tensor:
    return torch.randint(1, _TOKENS + 1, (batch, steps), generator=g)


def _made(
    *wrong: int,
    batch: int,
    steps: int,
    lengths: tuple[int, ...] = (),
    pad_id: int = 0,
    at_pads: int | None = None,
) -> Any:
    """Return a maker: so many `wrong` tokens in each of the first sequences, the rest right.

    The target is padding past each of `lengths`; there the prediction is `at_pads`, or any token.
    """

    def make(g: torch.Generator) -> tuple[Tensor, Tensor, int]:
        target = _tokens(g, batch, steps)
        predicted = target.clone()
        for row, length in enumerate(lengths):
            target[row, length:] = pad_id
            if at_pads is not None:
                predicted[row, length:] = at_pads
        for row, count in enumerate(wrong):
            # At either end by turns, so that neither the first nor the last token tells all.
            start = (lengths[row] if lengths else steps) - count if row % 2 else 0
            part = slice(start, start + count)
            predicted[row, part] = predicted[row, part] % _TOKENS + 1
        return predicted, target, pad_id

    return make


def _from_rows(predicted: list[list[int]], target: list[list[int]]) -> Any:
    return lambda g: (torch.tensor(predicted), torch.tensor(target), 0)


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor, int]:
    make = _made(0, 2, 0, batch=3, steps=5, lengths=(3, 5, 4))
    predicted, target, pad_id = make(g)
    return strided(predicted), strided(target), pad_id


def _no_share(args: tuple[Any, ...], out: float) -> str | None:
    return None if 0.0 <= out <= 1.0 else f"The result is {out:.4g}."


def _swapped(g: torch.Generator) -> tuple[Tensor, Tensor, int]:
    target = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 1], [2, 4, 6, 3], [7, 5, 3, 2], [4, 1, 2, 7]])
    predicted = target.clone()
    predicted[1] = predicted[1].roll(1)
    predicted[3, :2] = predicted[3, :2].flip(0)
    return predicted, target, 0


# Padding inside a target: what follows it counts.
_GAPS = (
    [
        [1, 2, 3, 4],
        [5, 9, 6, 2],
        [5, 0, 7, 2],
        [4, 6, 6, 6],
        [3, 2, 7, 4],
        [2, 2, 1, 1],
        [6, 5, 4, 3],
    ],
    [
        [1, 2, 3, 4],
        [5, 0, 6, 1],
        [5, 0, 7, 3],
        [4, 0, 6, 6],
        [3, 0, 0, 4],
        [0, 2, 0, 2],
        [6, 5, 4, 3],
    ],
)
_EMPTY = (
    [[3, 3, 1], [0, 0, 0], [1, 2, 6], [4, 5, 6], [7, 7, 7]],
    [[0, 0, 0], [0, 0, 0], [1, 2, 6], [4, 5, 1], [7, 7, 7]],
)
_STOPS_EARLY = (
    [[1, 0, 0], [4, 5, 6], [0, 0, 0], [2, 3, 0], [3, 1, 2]],
    [[1, 2, 3], [4, 5, 6], [7, 1, 0], [2, 3, 0], [3, 1, 2]],
)

EXERCISE = Exercise(
    name="exact_match",
    chapter=1,
    signature="exact_match(predicted, target, pad_id)",
    asks="Give the share of sequences that are right wherever the target is no padding.",
    reference=exact_match,
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        Case("11 sequences, no padding", _made(1, 3, 2, 0, 4, 1, batch=11, steps=4)),
        Case("the right tokens in another order", _swapped),
        Case(
            "padding, predicted as padding",
            _made(1, 1, 2, batch=7, steps=6, lengths=(2, 3, 6, 4, 1, 5, 3), at_pads=0),
        ),
        Case(
            "padding, other tokens predicted there",
            _made(0, 2, 1, 1, batch=13, steps=5, lengths=(2, 3, 4, 5, 1, 3, 5, 2, 4, 5, 1)),
        ),
        Case(
            "pad_id=99",
            _made(0, 1, 1, batch=6, steps=4, lengths=(3, 2, 4, 1, 4, 4), pad_id=99),
        ),
        Case(
            "pad_id=-100, 0 predicted there",
            _made(0, 0, 1, batch=3, steps=5, lengths=(2, 5, 4), pad_id=-100, at_pads=0),
        ),
        Case("padding predicted where tokens were due", _from_rows(*_STOPS_EARLY)),
        Case("padding inside the targets", _from_rows(*_GAPS)),
        Case("some targets are padding alone", _from_rows(*_EMPTY)),
        Case("all targets are padding", _from_rows([[1, 2], [0, 3]], [[0, 0], [0, 0]])),
        Case("all right", _made(batch=3, steps=4, lengths=(2, 4, 3))),
        Case("all wrong", _made(1, 1, batch=2, steps=3)),
        Case("one sequence", _made(0, batch=1, steps=4, lengths=(2,))),
        Case("one position", _made(1, 0, 1, batch=3, steps=1)),
        Case("inputs that do not lie in memory row by row", _strided),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(Property("a share lies between 0 and 1", _no_share),),
    hints=(
        "One wrong token spoils a sequence. Start with a table of what is right, token by token.",
        "A position where the target is padding must never spoil anything. What should your table "
        "hold there?",
        "`all` along one axis turns the table into one answer for each sequence. Along which?",
        "A mean of booleans needs numbers: which method makes them, and which makes a Python "
        "number of the result?",
    ),
)
