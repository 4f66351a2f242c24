"""What goes wrong with a table of scores, whatever the score: all four exercises share these."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.exercise import Function, Misconception
from course_utils.checking.laws import is_other, monotone


def then(right: Function, finish: Callable[..., Any]) -> Function:
    """Return a version that does something to the right scores; it gets the arguments too."""
    return lambda *args: finish(right(*args), *args)


def _no_batch(table: Tensor) -> Tensor:
    return table[:1].expand_as(table)


def _is_multiple(got: Tensor, want: Tensor) -> bool:
    """Say whether all scores are the right ones times one number."""
    if not is_other(got, want):
        return False
    top = want.abs().argmax()
    factor = (got.flatten()[top] / want.flatten()[top]).item()
    return factor != 0.0 and math.isfinite(factor) and equal(got, factor * want)


def _is_blanked(got: Tensor, want: Tensor) -> bool:
    """Say whether many scores are right and all others are one and the same number."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    others = got[(got - want).abs() > 1e-6 * want.abs().max()]
    return 2 < others.numel() < got.numel() // 2 and bool((others == others[0]).all())


def table_mistakes(right: Function) -> tuple[Misconception, ...]:
    """Return the mistakes with what is done to the scores, and with their axes."""

    def after(finish: Callable[[Tensor], Any]) -> Function:
        return then(right, lambda scores, *args: finish(scores))

    def over(size: Callable[..., float]) -> Function:
        return then(right, lambda scores, *args: scores / size(*args))

    return (
        Misconception(
            "softmax applied already",
            after(lambda s: s.softmax(-1)),
            "These are weights, not scores: a softmax was applied. Who needs the scores as they "
            "are, with a mask still to come?",
            also=(
                after(lambda s: s.softmax(-2)),
                after(lambda s: s.softmax(0)),
                after(lambda s: s.log_softmax(-1)),
                after(lambda s: s.exp()),
                after(lambda s: s - s.amax(-1, keepdim=True)),
                then(right, lambda s, q, *rest: (s / math.sqrt(q.shape[-1])).softmax(-1)),
                then(right, lambda s, q, k, *rest: (s / math.sqrt(k.shape[-1])).softmax(-1)),
            ),
        ),
        Misconception(
            "scaled",
            over(lambda q, *rest: math.sqrt(q.shape[-1])),
            "The scores were divided by something that grows with a size. That comes in chapter "
            "03: neither Bahdanau nor Luong scales.",
            also=(
                over(lambda q, *rest: q.shape[-1]),
                over(lambda q, k, *rest: math.sqrt(k.shape[-1])),
                over(lambda q, k, *rest: k.shape[-1]),
                over(lambda *args: math.sqrt(args[-1].shape[-1])),
                over(lambda *args: args[-1].shape[-1]),
                over(lambda q, k, *rest: k.shape[-2]),
                over(lambda q, k, *rest: math.sqrt(k.shape[-2])),
                over(lambda q, *rest: 1 / math.sqrt(q.shape[-1])),
            ),
            fits=lambda args, got: _is_multiple(got, right(*args)),
        ),
        Misconception(
            "rows belong to the keys",
            after(lambda s: s.mT),
            "The table has a row for each key. Which of the two asks, and so owns a row?",
        ),
        Misconception(
            "each query meets one key only",
            after(lambda s: s.diagonal(dim1=-2, dim2=-1)),
            "Query i was scored against key i and no other. How can every query meet every key: "
            "which of the two needs a new axis, and where?",
            also=(
                after(lambda s: s.diagonal(dim1=-2, dim2=-1).diag_embed()),
                after(lambda s: s.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)),
            ),
        ),
        Misconception(
            "the queries averaged",
            after(lambda s: s.mean(-2)),
            "The axis of the queries is gone: they were added up or averaged. Each query has a "
            "row of scores of its own.",
            also=(
                after(lambda s: s.sum(-2)),
                after(lambda s: s.mean(-2, keepdim=True)),
                after(lambda s: s.sum(-2, keepdim=True)),
                after(lambda s: s.sum(-1)),
                after(lambda s: s.mean(-1)),
                after(lambda s: s[:, -1]),
                after(lambda s: s[:, 0]),
                then(right, lambda s, q, *rest: right(q.mean(1, True).expand_as(q), *rest)),
                then(right, lambda s, q, *rest: right(q[:, -1:].expand_as(q), *rest)),
                then(right, lambda s, q, *rest: right(q[:, :1].expand_as(q), *rest)),
            ),
        ),
        Misconception(
            "the keys averaged",
            then(right, lambda s, q, k, *p: right(q, k.mean(1, True).expand_as(k), *p)),
            "All keys of a sequence get the same score: they were averaged, or one stands for "
            "all. Each key has a column of its own.",
            also=(
                then(right, lambda s, q, k, *p: right(q, k[:, -1:].expand_as(k), *p)),
                then(right, lambda s, q, k, *p: right(q, k[:, :1].expand_as(k), *p)),
            ),
        ),
        Misconception(
            "the sequences of a batch mixed",
            after(lambda s: s.sum(0)),
            "Sequences of the batch were mixed, or one was used for all. A query meets only the "
            "keys of its own sequence.",
            also=(
                after(lambda s: s.mean(0)),
                after(lambda s: s[0]),
                after(_no_batch),
                then(right, lambda s, q, k, *p: right(q[:1].expand_as(q), k, *p)),
                then(right, lambda s, q, k, *p: right(q, k[:1].expand_as(k), *p)),
                then(right, lambda s, q, k, *p: right(q, k.flip(0), *p)),
                then(right, lambda s, q, k, *p: right(q, k.sum(0, True).expand_as(k), *p)),
                then(right, lambda s, q, k, *p: right(q, k.mean(0, True).expand_as(k), *p)),
                then(right, lambda s, q, k, *p: right(q[:, -1].expand_as(q), k, *p)),
                then(right, lambda s, q, k, *p: right(q[:, 0].expand_as(q), k, *p)),
                then(right, lambda s, q, k, *p: right(q.transpose(0, 1), k, *p)),
                then(right, lambda s, q, k, *p: right(q, k.transpose(0, 1), *p)),
                then(right, lambda s, q, k, *p: right(q.unsqueeze(1), k.unsqueeze(0), *p)),
                then(right, lambda s, q, k, *p: right(q.flatten(0, 1), k.flatten(0, 1), *p)),
            ),
        ),
        Misconception(
            "the sign flipped",
            after(lambda s: -s),
            "The best key gets the lowest score. Which sign does the formula have?",
        ),
        Misconception(
            "the size of the score only",
            after(lambda s: s.abs()),
            "A negative score became positive: a key that points away now counts like one that "
            "agrees. Which operation lost the sign?",
            also=(after(lambda s: s.square()), after(lambda s: s.relu())),
        ),
        Misconception(
            "squashed at the end",
            after(lambda s: s.tanh()),
            "The scores themselves were squashed. A score may be any number: what is the last "
            "operation of the formula?",
            also=(after(lambda s: s.sigmoid()), after(lambda s: s / s.norm(dim=-1, keepdim=True))),
            fits=lambda args, got: is_other(got, right(*args)) and monotone(right(*args), got),
        ),
        Misconception(
            "part of the table blanked out",
            after(lambda s: s.tril()),
            "Part of the table was blanked out. The keys are a whole source sentence: nothing of "
            "it lies in the future.",
            also=(
                after(lambda s: s.masked_fill(torch.ones_like(s).triu(1) > 0, -torch.inf)),
                after(lambda s: s.triu()),
            ),
            fits=lambda args, got: _is_blanked(got, right(*args)),
        ),
        Misconception(
            "an axis of size 1 left in",
            after(lambda s: s.unsqueeze(-1)),
            "There is an axis of size 1 too many. Which operation ends with one number for each "
            "pair, and not with a vector of one?",
            also=(after(lambda s: s.unsqueeze(1)), after(lambda s: s.unsqueeze(0))),
        ),
        Misconception(
            "squeeze takes too many axes",
            after(lambda s: s.squeeze()),
            "With one query, one key or one sequence, an axis is lost: `squeeze()` without a "
            "number removes every axis of size 1. Which one did you mean?",
            also=(
                after(lambda s: s.squeeze(0)),
                after(lambda s: s.squeeze(1)),
                after(lambda s: s.squeeze(-1)),
            ),
        ),
    )
