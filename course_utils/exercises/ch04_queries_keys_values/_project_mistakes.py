"""Which matrix makes which of query, key and value, and what goes wrong with that."""

import itertools
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch04_queries_keys_values._project_steps import Three, build


def _chained(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Three:
    return x @ W_q, x @ W_k, x @ W_k @ W_v


def _all_chained(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Three:
    return x @ W_q, x @ W_q @ W_k, x @ W_q @ W_k @ W_v


def _unequal_thirds(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Three:
    query, key, value = (x @ torch.cat([W_q, W_k, W_v], dim=1)).chunk(3, dim=-1)
    return query, key, value


def _unprojected(*which: int) -> Function:
    def wrong(x: Tensor, *matrices: Tensor) -> tuple[Tensor, ...]:
        return tuple(x if i in which else x @ W for i, W in enumerate(matrices))

    return wrong


def _another_matrix(args: tuple[Any, ...], got: Any) -> bool:
    """Say whether each part is the sequence times one of the matrices, transposed or not."""
    x, *matrices = args
    choices = [*matrices, *(W.mT for W in matrices)]
    fitting = [x @ W for W in choices if W.shape[0] == x.shape[-1]]
    return all(any(equal(part, other) for other in fitting) for part in got)


_ORDERS = tuple(order for order in itertools.permutations(range(3)) if order != (0, 1, 2))


def _ordered(order: tuple[int, ...]) -> Function:
    return build(after=lambda *three: tuple(three[i] for i in order))


WHICH = (
    Misconception(
        "returned in another order",
        _ordered((1, 0, 2)),
        "The three are there, but not in the order query, key, value. The caller unpacks them by "
        "place.",
        also=tuple(_ordered(order) for order in _ORDERS if order != (1, 0, 2)),
    ),
    Misconception(
        "one matrix for several",
        build(pick=lambda W_q, W_k, W_v: (W_q, W_q, W_v)),
        "Two of the three were made with the same matrix. Query, key and value come from one "
        "source, but each by a matrix of its own.",
        also=tuple(
            build(pick=lambda *three, order=order: tuple(three[i] for i in order))
            for order in itertools.product(range(3), repeat=3)
            if len(set(order)) < 3 and order != (0, 0, 2)
        ),
    ),
    Misconception(
        "matrices transposed",
        build(multiply=lambda x, W: x @ W.mT),
        "A matrix was turned before it was used, as for the weight of an `nn.Linear`. Here its "
        "rows belong to the features of `x`: is anything to be turned?",
        also=(
            build(pick=lambda W_q, W_k, W_v: (W_q.mT, W_k, W_v)),
            build(pick=lambda W_q, W_k, W_v: (W_q, W_k.mT, W_v)),
            build(pick=lambda W_q, W_k, W_v: (W_q, W_k, W_v.mT)),
            build(pick=lambda W_q, W_k, W_v: (W_q.mT, W_k.mT, W_v)),
        ),
        fits=_another_matrix,
    ),
    Misconception(
        "the matrix on the left",
        build(multiply=lambda x, W: W @ x),
        "The matrix mixed the positions: it stands left of `x`. Which axis of `x` should it meet, "
        "and so on which side must it stand?",
        also=(
            build(multiply=lambda x, W: W.mT @ x),
            build(multiply=lambda x, W: (W.mT @ x).mT),
            build(multiply=lambda x, W: x.mT @ W),
        ),
    ),
    Misconception(
        "entry by entry instead of a matrix product",
        build(multiply=lambda x, W: x * W),
        "`*` multiplies entries that stand in the same place. A projection mixes all features of a "
        "position: which operator does that?",
        also=(
            build(multiply=lambda x, W: x * W.sum(0)),
            build(multiply=lambda x, W: x.sum(-1, keepdim=True) * W.sum(0)),
        ),
    ),
    Misconception(
        "the matrices changed",
        build(pick=lambda *three: tuple(W.abs() for W in three)),
        "The sequence meets other matrices than those given: something is done to them first. They "
        "are learned; use them as they are.",
        also=(
            build(pick=lambda *three: tuple(W.softmax(-1) for W in three)),
            build(pick=lambda *three: tuple(W.softmax(0) for W in three)),
            build(pick=lambda *three: tuple(W + 1 for W in three)),
            build(pick=lambda W_q, W_k, W_v: (W_q + 1, W_k, W_v)),
            build(pick=lambda *three: tuple(torch.linalg.qr(W).Q for W in three)),
        ),
    ),
    Misconception(
        "one made from another",
        _chained,
        "One projection was projected again to make the next. Each of the three is made from `x` "
        "itself.",
        also=(
            _all_chained,
            lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_q @ W_k, x @ W_v),
            lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x @ W_q @ W_v),
            lambda x, W_q, W_k, W_v: (x @ W_q @ W_k.mT, x, x @ W_v),
        ),
    ),
    Misconception(
        "the sequence not projected",
        _unprojected(0, 1, 2),
        "At least one of the three is `x` itself. What does each of its positions have to "
        "meet before it is a query, key or value?",
        also=tuple(_unprojected(*which) for which in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2))),
    ),
    Misconception(
        "cut as if all were equally wide",
        _unequal_thirds,
        "Values were cut as if they were as wide as keys. A value may be wider or narrower: where "
        "do the columns of each matrix end?",
        also=(
            lambda x, *W: (x @ torch.cat(W, 1)).split(W[0].shape[1], -1),
            lambda x, *W: tuple((x @ M)[..., : W[0].shape[1]] for M in W),
        ),
    ),
)
