"""What goes wrong when more, or less, is done than three matrix products."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch04_queries_keys_values._project_steps import Three, build, each, one


def _one_of_each(step: Callable[[Tensor], Any]) -> tuple[Function, ...]:
    return tuple(one(step, index) for index in range(3))


def _root(part: Tensor) -> Tensor:
    return part / math.sqrt(part.shape[-1])


def _multiples(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether each part is the right one times a number."""
    x, *matrices = args
    for part, W in zip(got, matrices, strict=True):
        want = x @ W
        top = want.abs().argmax()
        factor = (part.detach().flatten()[top] / want.flatten()[top]).item()
        if not math.isfinite(factor) or not equal(part.detach(), factor * want):
            return False
    return True


def _weights_too(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Three:
    query, key = x @ W_q, x @ W_k
    return query, key, torch.softmax(_root(query @ key.mT), -1) @ (x @ W_v)


def _standardised(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


MORE = (
    Misconception(
        "scaled already",
        one(_root, 0),
        "A result is a multiple of what it should be. The scale belongs to the scores; a "
        "projection is a matrix product and nothing else.",
        fits=_multiples,
        also=(
            each(_root),
            one(_root, 1),
            build(after=lambda q, k, v: (_root(q), _root(k), v)),
            build(before=_root),
            build(after=lambda q, k, v: (q * q.shape[-1] ** 0.5, k, v)),
            build(after=lambda q, k, v: (q / q.shape[-1] ** 0.25, k / q.shape[-1] ** 0.25, v)),
        ),
    ),
    Misconception(
        "something added",
        each(lambda part: part + 1),
        "Every number of a result is off by the same, as by a bias. There is no bias here: only "
        "the product.",
        also=_one_of_each(lambda part: part + 1),
    ),
    Misconception(
        "random numbers inside",
        each(lambda part: torch.dropout(part, 0.1, True)),
        "Two calls with the same inputs differ: something random, such as dropout, happens inside.",
        sign=lambda trace: trace.used_global_random,
        forbidden=False,
    ),
    Misconception(
        "a nonlinearity on top",
        each(torch.relu),
        "The projections were bent: something is applied after the product. A projection is "
        "linear: what does it do to 2·x?",
        also=(
            each(torch.tanh),
            each(torch.sigmoid),
            each(torch.nn.functional.gelu),
            each(lambda part: part.softmax(-1)),
            *_one_of_each(torch.relu),
            *_one_of_each(torch.tanh),
            *_one_of_each(lambda part: part.softmax(-1)),
        ),
    ),
    Misconception(
        "normalised",
        build(before=_standardised),
        "Lengths or spreads were evened out, before the projection or after it. A layer norm "
        "stands elsewhere in the block; a projection is the product alone.",
        also=(
            each(_standardised),
            build(before=lambda x: x - x.mean(-1, keepdim=True)),
            build(before=lambda x: x - x.mean(1, keepdim=True)),
            each(lambda part: torch.nn.functional.normalize(part, dim=-1)),
            build(before=lambda x: torch.nn.functional.normalize(x, dim=-1)),
            build(after=lambda q, k, v: (_standardised(q), _standardised(k), v)),
        ),
    ),
    Misconception(
        "the sequence added on top",
        lambda x, W_q, W_k, W_v: (x + x @ W_q, x + x @ W_k, x + x @ W_v),
        "`x` was added to its own projection. The residual connection stands around the whole "
        "attention, not here.",
        also=(lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x + x @ W_v),),
    ),
    Misconception(
        "attention done already",
        _weights_too,
        "An average of values came back, not the values. What comes after the projections is "
        "another function's work.",
        also=(lambda *given: _weights_too(*given)[2],),
    ),
    Misconception(
        "an axis of size 1 added",
        each(lambda part: part.unsqueeze(1)),
        "There is one axis too many, as if for a head. With a single head each of the three keeps "
        "the axes of `x`: (B, L, width).",
        also=(each(lambda part: part.unsqueeze(0)), each(lambda part: part.unsqueeze(-1))),
    ),
    Misconception(
        "last two axes swapped",
        one(lambda part: part.mT, 1),
        "A result was returned transposed. The scores swap the axes of the key when they need "
        "it; here each keeps (B, L, width).",
        also=(each(lambda part: part.mT), one(lambda part: part.mT, 0)),
    ),
    Misconception(
        "sequences or positions mixed",
        build(before=lambda x: x.mean(0, keepdim=True).expand_as(x)),
        "Rows of `x` were added, averaged, or one stands for all. Each position of each "
        "sequence is projected by itself.",
        also=(
            build(before=lambda x: x.mean(1, keepdim=True).expand_as(x)),
            build(before=lambda x: x[:1].expand_as(x)),
            build(before=lambda x: x[:, :1].expand_as(x)),
            build(before=lambda x: x[:, -1:].expand_as(x)),
            build(before=lambda x: x.transpose(0, 1)),
            build(before=lambda x: x.flip(1)),
            build(before=lambda x: x.roll(1, 1)),
            build(before=lambda x: x.roll(-1, 1)),
            build(before=lambda x: x.cumsum(1)),
            build(before=lambda x: x.mT @ x),
            build(before=lambda x: x.reshape(x.shape[1], x.shape[0], -1)),
            build(before=lambda x: x.transpose(0, 1).reshape(x.shape)),
            one(lambda part: part.mean(1, keepdim=True), 2),
            build(before=lambda x: x[0]),
            build(before=lambda x: x.mean(1)),
            build(before=lambda x: x.flatten(0, 1)),
        ),
    ),
    Misconception(
        "squeeze takes too many axes",
        each(lambda part: part.squeeze()),
        "With one sequence, one position or one feature an axis is lost: `squeeze()` without a "
        "number removes every axis of size 1.",
        also=(
            each(lambda part: part.squeeze(0)),
            each(lambda part: part.squeeze(1)),
            each(lambda part: part.squeeze(-1)),
        ),
    ),
    Misconception(
        "stacked into one tensor",
        build(after=lambda *three: torch.stack(three)),
        "The three came back as one tensor. Return them one by one: a value may have another "
        "width, so they cannot always be stacked.",
        also=(
            build(after=lambda *three: torch.stack(three, 1)),
            build(after=lambda *three: torch.stack(three, 2)),
            build(after=lambda *three: torch.cat(three, -1)),
        ),
    ),
)
