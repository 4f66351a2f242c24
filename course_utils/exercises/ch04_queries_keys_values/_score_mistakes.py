"""What goes wrong between queries and keys once they are there: scores and softmax.

The lookup and cross-attention share these. `make` builds a function of the exercise's own
signature with some steps exchanged: `score` and `turn`, as in chapter 03's `_attention`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._weight_mistakes import softmax_mistakes


def _cosine(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize
    return unit(query, dim=-1) @ unit(key, dim=-1).mT


def _distance(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    apart: Tensor = torch.linalg.vector_norm(query.unsqueeze(-2) - key.unsqueeze(-3), dim=-1)
    return -apart


def _summed_first(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return query.sum(-1, keepdim=True) * key.sum(-1).unsqueeze(-2)


def _reshaped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return query @ key.reshape(key.mT.shape)


def _causal(scores: Tensor) -> Tensor:
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return stable_softmax(scores.masked_fill(future, -torch.inf))


def softmax_over_keys_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return chapter 03's mistakes with the softmax that do not hang on the number of axes."""
    counted = "softmax over an axis counted from the front"
    return tuple(mistake for mistake in softmax_mistakes(make) if mistake.name != counted)


def score_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes with what is compared with what, and how."""
    return (
        Misconception(
            "query and key swapped",
            make(score=lambda q, k, v: k @ q.mT),
            "The keys did the asking: scores and weights have a row for each key. Which of the two "
            "owns a row?",
        ),
        Misconception(
            "the wrong two compared",
            make(score=lambda q, k, v: q @ q.mT),
            "The scores do not come from queries and keys: one of the three was used twice or in "
            "another's place. Which two are compared with each other?",
            also=(
                make(score=lambda q, k, v: k @ k.mT),
                make(score=lambda q, k, v: v @ k.mT),
                make(score=lambda q, k, v: v @ v.mT),
            ),
        ),
        Misconception(
            "key reshaped instead of transposed",
            make(score=_reshaped),
            "The numbers of different keys are mixed. `view` and `reshape` cut memory anew; what "
            "swaps two axes?",
        ),
        Misconception(
            "key not transposed",
            make(score=lambda q, k, v: q @ k),
            "Features of the query meet keys, not features of keys: a table (L, d) times (S, d) "
            "fits only where sizes happen to agree. Which axis is summed away?",
        ),
        Misconception(
            "entry by entry instead of a dot product",
            make(score=lambda q, k, v: q * k),
            "`*` multiplies entries that stand in the same place: query i meets key i alone, and "
            "nothing is added up. Which product compares each query with each key?",
        ),
        Misconception(
            "cosine similarity",
            make(score=_cosine),
            "The lengths of query and key play no part: these are cosines. Does a dot product "
            "divide by the lengths?",
        ),
        Misconception(
            "distance instead of dot product",
            make(score=_distance),
            "Each pair is scored by its distance. A dot product also grows with the lengths: which "
            "operation multiplies entry by entry and adds up?",
            also=(
                make(score=lambda q, k, v: -_distance(q, k, v)),
                make(score=lambda q, k, v: -_distance(q, k, v).square()),
                make(score=lambda q, k, v: -_distance(q, k, v).square() / 2),
            ),
        ),
        Misconception(
            "features summed before the product",
            make(score=_summed_first),
            "The features were summed for each vector alone, and the two sums multiplied. In a dot "
            "product, which comes first: multiply or add?",
        ),
        Misconception(
            "always causal",
            make(turn=_causal),
            "Each query sees only keys up to its own position, though nobody asked for it. Where "
            "does that mask come from?",
        ),
    )
