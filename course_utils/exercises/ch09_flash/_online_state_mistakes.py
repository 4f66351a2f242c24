"""What goes wrong in one step of the online softmax: the two sums, and what comes back."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash._online import build, fading, powers, top


def _divided(m: Tensor, l: Tensor, acc: Tensor) -> Any:
    return m, l, acc / l.unsqueeze(-1)


def _dao_2022(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    """Keep acc normalised, as the first paper's algorithm does."""
    new = torch.maximum(m, top(scores))
    p = powers(m, new, scores)
    new_l = l * fading(m, new, scores) + p.sum(-1)
    carried = acc * (l * fading(m, new, scores)).unsqueeze(-1)
    return new, new_l, (carried + p @ value) / new_l.unsqueeze(-1)


def _in_float32(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    parts = build()(*(x.float() for x in (m, l, acc, scores, value)))
    return tuple(x.to(m.dtype) for x in parts)


def _scaled(by: Any) -> Function:
    return build(prepare=lambda scores, value: scores * by(scores, value))


_SCALES = (
    lambda scores, value: 1 / math.sqrt(value.shape[-1]),
    lambda scores, value: 1 / math.sqrt(scores.shape[-1]),
    lambda scores, value: 1 / value.shape[-1],
    lambda scores, value: 1 / 8,
    lambda scores, value: math.sqrt(value.shape[-1]),
)


def _in_place(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    new, new_l, new_acc = build()(m, l, acc, scores, value)
    return m.copy_(new), l.copy_(new_l), acc.copy_(new_acc)


def _acc_in_place(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    new, new_l, new_acc = build()(m, l, acc, scores, value)
    return new, new_l, acc.copy_(new_acc)


def _l_and_acc_in_place(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    new, new_l, new_acc = build()(m, l, acc, scores, value)
    return new, l.copy_(new_l), acc.copy_(new_acc)


def _scores_in_place(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    state = build()(m, l, acc, scores, value)
    scores.copy_(powers(m, state[0], scores))
    return state


def _detached(m: Tensor, l: Tensor, acc: Tensor, scores: Tensor, value: Tensor) -> Any:
    return build()(*(x.detach() for x in (m, l, acc, scores, value)))


STATE = (
    Misconception(
        "l replaced",
        build(total=lambda p: p.sum(-1), fade_l=lambda m, n, s: torch.zeros_like(m)),
        "l holds the sum of this tile alone. What became of the tiles before it?",
    ),
    Misconception(
        "acc replaced",
        build(fade_acc=lambda m, n, s: torch.zeros_like(m)),
        "acc holds the values of this tile alone. What became of the tiles before it?",
        also=(
            build(
                fade_acc=lambda m, n, s: torch.zeros_like(m),
                fade_l=lambda m, n, s: torch.zeros_like(m),
            ),
        ),
    ),
    Misconception(
        "l is no sum",
        build(total=lambda p: p.mean(-1)),
        "l grew by the tile's mean, its largest term or a count instead of the sum of its "
        "exponentials. What will acc be divided by in the end?",
        also=(
            build(total=lambda p: p.amax(-1)),
            build(total=lambda p: 0 * p.sum(-1) + p.shape[-1]),
            build(total=lambda p: 0 * p.sum(-1) + 1),
            build(total=lambda p: p.square().sum(-1)),
            build(total=lambda p: 0 * p.sum(-1)),
        ),
    ),
    Misconception(
        "a logarithm in l",
        build(total=lambda p: p.sum(-1).log()),
        "A logarithm got into l. The sum itself is carried from tile to tile; the logarithm is "
        "taken once, at the end.",
        also=(
            build(finish=lambda m, l, acc: (m, l.log(), acc)),
            build(finish=lambda m, l, acc: (m, m + l.log(), acc)),
            lambda m, l, acc, s, v: (
                lambda new, _, a: (new, torch.logaddexp(l, s.logsumexp(-1)), a)
            )(*build()(m, l, acc, s, v)),
        ),
    ),
    Misconception(
        "the sum over the queries",
        build(
            total=lambda p: (
                p.sum(-2)[..., : p.shape[-2]]
                if p.shape[-2] == p.shape[-1]
                else p.sum(-1) * 0 + p.sum((-2, -1)).unsqueeze(-1)
            )
        ),
        "The exponentials of different queries were added together. Each row has its own sum: "
        "which axis holds the keys?",
    ),
    Misconception(
        "acc without the weights",
        build(take=lambda p, value: value.sum(-2, keepdim=True).expand(*p.shape[:-1], -1)),
        "The values were added without their weights, or divided by the number of keys. What does "
        "each value count in the sum?",
        also=(
            build(take=lambda p, value: p @ value / p.shape[-1]),
            build(take=lambda p, value: p.sum(-1, keepdim=True) * value.mean(-2, keepdim=True)),
        ),
    ),
    Misconception(
        "acc times the sum",
        build(take=lambda p, value: p.sum(-1, keepdim=True) * (p @ value)),
        "acc grew by the tile's output times its sum, or times l. The product of the exponentials "
        "and the values is all that joins it.",
        also=(
            lambda m, l, acc, s, v: (
                *build()(m, l, acc, s, v)[:2],
                acc * (l * fading(m, torch.maximum(m, top(s)), s)).unsqueeze(-1)
                + powers(m, torch.maximum(m, top(s)), s) @ v,
            ),
        ),
    ),
    Misconception(
        "the old state returned",
        lambda m, l, acc, s, v: (m.clone(), l.clone(), acc.clone()),
        "The state came back as it went in. What has this tile added to it?",
    ),
    Misconception(
        "the tile alone",
        lambda m, l, acc, s, v: build()(
            torch.full_like(m, -torch.inf), torch.zeros_like(l), torch.zeros_like(acc), s, v
        ),
        "What comes back is the state after this tile alone, as if none had come before. What are "
        "the three arguments m, l and acc for?",
    ),
    Misconception(
        "m and l swapped",
        lambda m, l, acc, s, v: (lambda a, b, c: (b, a, c))(*build()(m, l, acc, s, v)),
        "l came back first and m second. The order is that of the arguments.",
    ),
    Misconception(
        "written into the state",
        _in_place,
        "The state that was handed over was overwritten. Whoever keeps it, to go another way or to "
        "differentiate, loses it: which line writes in place?",
        also=(_acc_in_place, _l_and_acc_in_place, _scores_in_place),
    ),
    Misconception(
        "cut from the gradient",
        _detached,
        "The values are right, but no gradient flows through them. What cuts the thread? Only the "
        "maximum may be detached, since it cancels in the end.",
    ),
    Misconception(
        "acc normalised",
        build(finish=_divided),
        "acc came back divided by l. The next step would add to it terms that were not divided: "
        "when is the division due?",
        also=(_dao_2022,),
    ),
    Misconception(
        "scaled once more",
        _scaled(_SCALES[0]),
        "The scores were multiplied by a factor once more. What does the exercise say of the "
        "scores that it hands over?",
        also=tuple(_scaled(scale) for scale in _SCALES[1:]),
    ),
    Misconception(
        "in lower precision",
        _in_float32,
        "The state was carried in float32, although float64 came in. Sums of many tiles gather "
        "rounding: which line changes the type?",
    ),
)
