"""Exercise: Bahdanau's additive score, each key projected once."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import additive_score
from course_utils.checking.exercise import Cost, Exercise, Misconception
from course_utils.exercises.ch02_additive_multiplicative._additive_mistakes import (
    KEYS_AGAIN,
    MISCONCEPTIONS,
    QUERIES_AGAIN,
)
from course_utils.exercises.ch02_additive_multiplicative._score_cases import (
    Draw,
    Sizes,
    score_cases,
    score_inputs,
)
from course_utils.measure import count_flops, largest_tensor


def _parameters(draw: Draw, s: Sizes) -> tuple[Tensor, ...]:
    return draw(s.d_q, s.d_a, size=0.7), draw(s.d_k, s.d_a, size=0.7), draw(s.d_a)


def _growing(mistake: Misconception) -> tuple[Cost, ...]:
    """Let one length and the other side's width grow together.

    A projection made once costs as much as their sum then, one made for every pair as their
    product.
    """

    def make(n: int, g: torch.Generator) -> tuple[Any, ...]:
        keys_again = mistake is KEYS_AGAIN
        sizes = Sizes(2, n, 3, 2, n, 4) if keys_again else Sizes(2, 3, n, n, 2, 4)
        return score_inputs(sizes, _parameters)(g)

    def limit(name: str, count: Callable[..., int]) -> Cost:
        return Cost(name, count, (16, 64), make, 1.3, mistake.says, mistake)

    return limit("the work of the matrix products", count_flops), limit(
        "the largest tensor", largest_tensor
    )


EXERCISE = Exercise(
    name="additive_score",
    chapter=2,
    signature="additive_score(query, key, W_q, W_k, v)",
    asks="Score each query against each key by tanh(q W_q + k W_k)·v, each projected once.",
    reference=additive_score,
    minutes=10,
    difficulty=3,
    importance=5,
    cases=score_cases(_parameters, Sizes(3, 3, 3, 3, 3, 3)),
    misconceptions=MISCONCEPTIONS,
    costs=(*_growing(KEYS_AGAIN), *_growing(QUERIES_AGAIN)),
    hints=(
        "Project first, while there are only L queries and S keys, and not yet L · S pairs.",
        "The hidden layer of all pairs has four axes: (B, L, S, d_a). Which of them does the "
        "projected query lack, and which the projected key?",
        "`unsqueeze` gives each its missing axis, of size 1, and adding broadcasts. What is then "
        "applied to the sum?",
        "The last step turns d_a numbers into one for each pair: a product of (B, L, S, d_a) and "
        "(d_a,).",
    ),
)
