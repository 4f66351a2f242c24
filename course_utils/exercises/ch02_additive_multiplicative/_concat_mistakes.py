"""What goes wrong in concat scoring: each mistake as something to run."""

from typing import Any

import torch
from torch import Tensor

from course_utils.attention import concat_score
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch02_additive_multiplicative._hidden import build, halves
from course_utils.exercises.ch02_additive_multiplicative._hidden_mistakes import hidden_mistakes
from course_utils.exercises.ch02_additive_multiplicative._score_mistakes import table_mistakes
from course_utils.exercises.ch02_additive_multiplicative._vector_mistakes import vector_mistakes


def _make(**parts: Any) -> Function:
    return build(**{"split": halves, **parts})


def _joined(query: Tensor, key: Tensor) -> Tensor:
    asked = query.unsqueeze(2).expand(-1, -1, key.shape[1], -1)
    return torch.cat([asked, key.unsqueeze(1).expand(-1, query.shape[1], -1, -1)], dim=-1)


def _along_the_length(query: Tensor, key: Tensor, W: Tensor, v: Tensor) -> Tensor:
    return torch.tanh(torch.cat([query, key], dim=1) @ W[: query.shape[-1]]) @ v


MISCONCEPTIONS = (
    Misconception(
        "key before query",
        _make(split=lambda W, d_q, d_k: (W[d_k:], W[:d_k])),
        "The key was put first, so every row of `W` meets the wrong feature. Which of the two "
        "comes first in [q; k]?",
        also=(
            lambda q, k, W, v: (
                torch.tanh(
                    torch.cat(
                        [_joined(q, k)[..., q.shape[-1] :], _joined(q, k)[..., : q.shape[-1]]], -1
                    )
                    @ W
                )
                @ v
            ),
        ),
    ),
    Misconception(
        "query and key changed places",
        lambda q, k, W, v: concat_score(k, q, W, v),
        "Query and key stand in each other's place. Which of them asks, and so owns a row of the "
        "table and comes first?",
    ),
    Misconception(
        "the same rows of W for both",
        _make(split=lambda W, d_q, d_k: (W[:d_q], W[:d_k])),
        "Query and key meet the same rows of `W`. How many rows has it, and which belong to whom?",
        also=(_make(split=lambda W, d_q, d_k: (W[-d_q:], W[-d_k:])),),
    ),
    Misconception(
        "W cut in the middle",
        _make(split=lambda W, d_q, d_k: W.chunk(2)),
        "`W` was cut into two equal parts. Query and key may have different widths: after how "
        "many rows does the query's part end?",
        also=(_make(split=lambda W, d_q, d_k: (W[: len(W) // 2], W[len(W) // 2 :])),),
    ),
    Misconception(
        "W cut at the key's width",
        _make(split=lambda W, d_q, d_k: (W[:d_k], W[d_k:])),
        "`W` was cut after as many rows as the key has features. Whose features come first in "
        "[q; k]?",
    ),
    Misconception(
        "W transposed",
        lambda q, k, W, v: concat_score(q, k, W.mT, v),
        "`W` is used with its rows and columns swapped, as `F.linear` would have it. It has a row "
        "for each feature of the pair: on which side does the pair stand?",
        also=(_make(split=lambda W, d_q, d_k: (W[:, :d_q].mT, W[:, d_q:].mT)),),
    ),
    Misconception(
        "joined along the length",
        _along_the_length,
        "Queries and keys were put into one long sequence. Which axis grows when two vectors are "
        "joined into one?",
    ),
    Misconception(
        "joined without pairing",
        lambda q, k, W, v: torch.tanh(torch.cat([q, k], dim=-1) @ W) @ v,
        "Query i was joined to key i, and to no other. Each query must meet each key: which axes "
        "have to be there before `torch.cat`?",
        also=(
            lambda q, k, W, v: torch.tanh(torch.cat([k, q], dim=-1) @ W) @ v,
            lambda q, k, W, v: torch.tanh(torch.cat([q, k], dim=2) @ W) @ v,
        ),
    ),
    Misconception(
        "joined twice",
        lambda q, k, W, v: (
            torch.tanh(torch.cat([_joined(q, k)[..., : q.shape[-1]]] * 2, -1) @ W) @ v
        ),
        "The same vector stands in both halves of the pair. Which two are joined?",
        also=(
            lambda q, k, W, v: (
                torch.tanh(torch.cat([_joined(q, k)[..., q.shape[-1] :]] * 2, -1) @ W) @ v
            ),
        ),
    ),
    Misconception(
        "a parameter cut off",
        lambda q, k, W, v: concat_score(q, k, W, v.detach()),
        "The values are right, but one of the inputs gets no gradient, and nothing would be "
        "learned through it. What cuts the thread?",
        also=(
            lambda q, k, W, v: concat_score(q, k, W.detach(), v),
            lambda q, k, W, v: concat_score(q, k, W.detach(), v.detach()),
            lambda q, k, W, v: concat_score(q, k.detach(), W, v),
            lambda q, k, W, v: concat_score(q.detach(), k, W, v),
        ),
    ),
    *hidden_mistakes(_make),
    *vector_mistakes(_make),
    *table_mistakes(concat_score),
)
