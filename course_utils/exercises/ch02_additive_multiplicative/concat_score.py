"""Exercise: Luong's concat score."""

from torch import Tensor

from course_utils.attention import concat_score
from course_utils.checking.exercise import Exercise
from course_utils.exercises.ch02_additive_multiplicative._concat_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch02_additive_multiplicative._score_cases import (
    Draw,
    Sizes,
    score_cases,
)


def _parameters(draw: Draw, s: Sizes) -> tuple[Tensor, ...]:
    return draw(s.d_q + s.d_k, s.d_a, size=0.7), draw(s.d_a)


EXERCISE = Exercise(
    name="concat_score",
    chapter=2,
    signature="concat_score(query, key, W, v)",
    asks="Score each query against each key by tanh([q; k] W)·v, the query first.",
    reference=concat_score,
    minutes=8,
    difficulty=2,
    importance=3,
    # As wide as query and key together, and as many queries and keys: all fits any way round.
    cases=score_cases(_parameters, Sizes(4, 4, 4, 2, 2, 4)),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Every query is joined to every key: (B, L, S, d_q + d_k). What must happen to each of the "
        "two before `torch.cat` can join them?",
        "`unsqueeze` and `expand` give both the shape (B, L, S, ...). Along which axis are they "
        "joined then?",
        "Or look at `W`: its upper rows only ever meet the query, the lower ones only the key. "
        "What is the product of a joined vector with a matrix, part by part?",
    ),
)
