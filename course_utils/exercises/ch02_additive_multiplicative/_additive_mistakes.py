"""What goes wrong in additive scoring: each mistake as something to run."""

import torch
from torch import Tensor

from course_utils.attention import additive_score
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._hidden import build, turned
from course_utils.exercises.ch02_additive_multiplicative._hidden_mistakes import hidden_mistakes
from course_utils.exercises.ch02_additive_multiplicative._score_mistakes import table_mistakes
from course_utils.exercises.ch02_additive_multiplicative._vector_mistakes import vector_mistakes


def _keys_every_time(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    rows = [
        torch.tanh((query[:, i] @ W_q).unsqueeze(1) + key @ W_k) @ v for i in range(query.shape[1])
    ]
    return torch.stack(rows, dim=1)


def _keys_expanded(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    every = key.unsqueeze(1).expand(-1, query.shape[1], -1, -1)
    return torch.tanh((query @ W_q).unsqueeze(2) + every @ W_k) @ v


def _pairs_concatenated(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    asked = query.unsqueeze(2).expand(-1, -1, key.shape[1], -1)
    offered = key.unsqueeze(1).expand(-1, query.shape[1], -1, -1)
    return torch.tanh(torch.cat([asked, offered], -1) @ torch.cat([W_q, W_k])) @ v


def _keys_by_hand(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    every = key.unsqueeze(1).expand(-1, query.shape[1], -1, -1).unsqueeze(-1)
    return torch.tanh((query @ W_q).unsqueeze(2) + (every * W_k).sum(-2)) @ v


def _queries_every_time(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    columns = [
        torch.tanh(query @ W_q + (key[:, j] @ W_k).unsqueeze(1)) @ v for j in range(key.shape[1])
    ]
    return torch.stack(columns, dim=2)


def _queries_expanded(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    every = query.unsqueeze(2).expand(-1, -1, key.shape[1], -1)
    return torch.tanh(every @ W_q + (key @ W_k).unsqueeze(1)) @ v


def _only(a: Tensor, W: Tensor) -> Tensor:
    return a


KEYS_AGAIN = Misconception(
    "the keys projected for every query",
    _keys_every_time,
    "The values are right, but each key meets `W_k` once for every query, though the result is the "
    "same each time. What can be computed before any query is known?",
    also=(_keys_expanded, _pairs_concatenated, _keys_by_hand),
)
QUERIES_AGAIN = Misconception(
    "the queries projected for every key",
    _queries_every_time,
    "The values are right, but each query meets `W_q` once for every key, though the result is the "
    "same each time. What does it hang on?",
    also=(_queries_expanded,),
)

MISCONCEPTIONS = (
    Misconception(
        "W_q and W_k swapped",
        lambda q, k, W_q, W_k, v: additive_score(q, k, W_k, W_q, v),
        "Each matrix meets the wrong input. Which of them has a row for each feature of the query?",
    ),
    Misconception(
        "query and key changed places",
        lambda q, k, W_q, W_k, v: additive_score(k, q, W_q, W_k, v),
        "Query and key stand in each other's place. Which of them asks, and so owns a row of the "
        "table and the first matrix?",
    ),
    Misconception(
        "one matrix for both",
        lambda q, k, W_q, W_k, v: additive_score(q, k, W_q, W_q, v),
        "Query and key go through the same matrix, and the other one is never used.",
        also=(lambda q, k, W_q, W_k, v: additive_score(q, k, W_k, W_k, v),),
    ),
    Misconception(
        "weight matrix transposed",
        build(on_query=turned, on_key=turned),
        "A matrix is used with its rows and columns swapped, as `F.linear` would have it. It has a "
        "row for each feature of its input: on which side does the input stand?",
        also=(build(on_query=turned), build(on_key=turned)),
    ),
    Misconception(
        "matrix on the left",
        build(on_query=lambda a, m: m @ a, on_key=lambda a, m: m @ a),
        "With the matrix on the left, the product runs over the positions and mixes them. Where "
        "do the features stand, in the rows or in the columns?",
        also=(build(on_query=lambda a, m: m @ a), build(on_key=lambda a, m: m @ a)),
    ),
    Misconception(
        "the key not projected",
        build(on_key=_only),
        "One of the two inputs was added as it is. What brings both to the width of the hidden "
        "layer?",
        also=(build(on_query=_only), build(on_query=_only, on_key=_only)),
    ),
    Misconception(
        "projected after the sum",
        lambda q, k, W_q, W_k, v: torch.tanh((q.unsqueeze(2) + k.unsqueeze(1)) @ W_k) @ v,
        "Query and key were added first and projected together. They need not even have the same "
        "width: what comes first?",
        also=(
            lambda q, k, W_q, W_k, v: torch.tanh((q.unsqueeze(2) + k.unsqueeze(1)) @ W_q) @ v,
            lambda q, k, W_q, W_k, v: (
                torch.tanh((q.unsqueeze(2) + k.unsqueeze(1)) @ (W_q + W_k)) @ v
            ),
        ),
    ),
    Misconception(
        "the matrices multiplied with each other",
        lambda q, k, W_q, W_k, v: build(on_query=lambda a, m: a @ m @ W_k)(q, k, W_q, W_k, v),
        "An input went through both matrices. Each has one of its own.",
        also=(
            build(on_query=lambda a, m: a @ m @ m),
            lambda q, k, W_q, W_k, v: build(on_key=lambda a, m: a @ W_q @ m)(q, k, W_q, W_k, v),
            lambda q, k, W_q, W_k, v: (q @ W_q) @ W_k @ k.mT,
        ),
    ),
    Misconception(
        "softmax inside",
        build(on_query=lambda a, m: (a @ m).softmax(-1)),
        "A projection was turned into weights. Nothing but the tanh bends anything here.",
        also=(
            build(on_key=lambda a, m: (a @ m).softmax(-1)),
            build(read=lambda h, v: (h * v).softmax(-1).sum(-1)),
        ),
    ),
    Misconception(
        "a parameter cut off",
        lambda q, k, W_q, W_k, v: additive_score(q, k, W_q, W_k, v.detach()),
        "The values are right, but one of the parameters gets no gradient, and would never be "
        "learned. What cuts the thread?",
        also=(
            lambda q, k, W_q, W_k, v: additive_score(q, k, W_q.detach(), W_k, v),
            lambda q, k, W_q, W_k, v: additive_score(q, k, W_q, W_k.detach(), v),
            lambda q, k, W_q, W_k, v: additive_score(q, k, W_q.detach(), W_k.detach(), v.detach()),
            lambda q, k, W_q, W_k, v: additive_score(q, k.detach(), W_q, W_k, v),
            lambda q, k, W_q, W_k, v: additive_score(q.detach(), k, W_q, W_k, v),
        ),
    ),
    *hidden_mistakes(build),
    *vector_mistakes(build),
    *table_mistakes(additive_score),
    KEYS_AGAIN,
    QUERIES_AGAIN,
)
