"""What goes wrong in linear attention without a causal order alone, and the dear way."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._linear import Linear, phi, same
from course_utils.exercises.ch08_cheaper._linear_mistakes import feature_mistakes
from course_utils.exercises.ch08_cheaper._linear_total_mistakes import total_mistakes

LINEAR = Linear(same)
_build = LINEAR.build


def _summed_over(axis: int) -> Any:
    """Sum the keys over an axis counted from the front."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Any:
        q, k = phi(query), phi(key)
        total = k.sum(axis, keepdim=True)
        return q @ (k.mT @ value) / (q * total).sum(-1, keepdim=True)

    return wrong


def _by_broadcast(query: Tensor, key: Tensor, value: Tensor) -> Any:
    weights = (phi(query).unsqueeze(-2) * phi(key).unsqueeze(-3)).sum(-1)
    return weights @ value / weights.sum(-1, keepdim=True)


def _row_by_row(query: Tensor, key: Tensor, value: Tensor) -> Any:
    rows, k = [], phi(key)
    for i in range(query.shape[-2]):
        weights = phi(query[..., i : i + 1, :]) @ k.mT
        rows.append(weights @ value / weights.sum(-1, keepdim=True))
    return torch.cat(rows, dim=-2)


def _state_again(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """Sum the keys anew for every query."""
    rows = []
    for i in range(query.shape[-2]):
        q, k = phi(query[..., i : i + 1, :]), phi(key)
        rows.append(q @ (k.mT @ value) / (q @ k.sum(-2).unsqueeze(-1)))
    return torch.cat(rows, dim=-2)


PAIRS = Misconception(
    "the table of pairs kept",
    _build(),
    "The values are right, but every query meets every key, as if there were a softmax between "
    "them. Without one, the product of three can be taken in another order: which pair of them "
    "does not depend on the query?",
    also=(_by_broadcast, _row_by_row, _state_again),
)

MISCONCEPTIONS = (
    *feature_mistakes(LINEAR),
    *total_mistakes(LINEAR),
    Misconception(
        "causal",
        _build(top=torch.tril, bottom=torch.tril),
        "Each query sees only keys up to its own position. Nobody asked for an order here.",
        also=(_build(top=torch.tril), _build(bottom=torch.tril)),
    ),
    Misconception(
        "normaliser over the queries",
        _build(divide=lambda t, b, q, k: t / (phi(q) @ phi(k).mT).sum((-2, -1), keepdim=True)),
        "All queries are divided by one number. Each query has its own sum of weights.",
        also=(
            lambda query, key, value: (
                (lambda w: w / w.sum(-2, keepdim=True))(phi(query) @ phi(key).mT) @ value
            ),
        ),
    ),
    Misconception(
        "keys summed over an axis counted from the front",
        _summed_over(0),
        "The keys are summed over an axis that is the right one for some numbers of axes only. "
        "Which axis holds the positions, counted from the end?",
        also=(_summed_over(1), _summed_over(-1)),
    ),
    Misconception(
        "query and key exchanged",
        lambda query, key, value: _build()(key, query, value),
        "The keys ask and the queries answer. Which of the two is summed together with the values?",
        also=(
            lambda query, key, value: _build()(value, key, query),
            lambda query, key, value: _build()(query, value, key),
            lambda query, key, value: _build()(query, query, value),
        ),
    ),
    Misconception(
        "state transposed",
        lambda q, k, v: phi(q) @ (v.mT @ phi(k)) / (phi(q) @ phi(k).sum(-2).unsqueeze(-1)),
        "The state was multiplied with rows and columns exchanged. It has a row for each feature "
        "of a key and a column for each number of a value.",
    ),
    Misconception(
        "a plain mean",
        lambda q, k, v: (
            v.mean(-2, keepdim=True).expand(*q.shape[:-1], -1) + 0 * (q.sum() + k.sum())
        ),
        "Every query gets the mean of all values. Where do the weights come in?",
        also=(lambda q, k, v: v.sum(-2, keepdim=True).expand(*q.shape[:-1], -1),),
    ),
    PAIRS,
)
