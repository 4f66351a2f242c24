"""Exercise: Luong's general score."""

from course_utils.attention import general_score
from course_utils.checking.exercise import Exercise
from course_utils.exercises.ch02_additive_multiplicative._general_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch02_additive_multiplicative._score_cases import Sizes, score_cases

EXERCISE = Exercise(
    name="general_score",
    chapter=2,
    signature="general_score(query, key, W)",
    asks="Score each query against each key through a matrix: q W kᵀ.",
    reference=general_score,
    minutes=5,
    difficulty=1,
    importance=4,
    cases=score_cases(lambda draw, s: (draw(s.d_q, s.d_k, size=0.7),), Sizes(3, 3, 3, 3, 3)),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "It is a dot product again, but of the key with something made from the query. What makes "
        "a vector of width d_k of one of width d_q?",
        "`W` has a row for each feature of the query. On which side of it does the query stand?",
        "Two products in a row: (B, L, d_q) with (d_q, d_k), then with the keys, turned so that "
        "their features meet. What is the shape after each?",
    ),
)
