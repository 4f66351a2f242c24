"""Exercise: Luong's dot score."""

from course_utils.attention import dot_score
from course_utils.checking.exercise import Exercise
from course_utils.exercises.ch02_additive_multiplicative._dot_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch02_additive_multiplicative._score_cases import Sizes, score_cases

EXERCISE = Exercise(
    name="dot_score",
    chapter=2,
    signature="dot_score(query, key)",
    asks="Score each query against each key by their dot product.",
    reference=dot_score,
    minutes=4,
    difficulty=1,
    importance=5,
    cases=score_cases(lambda draw, s: (), Sizes(3, 3, 3, 3, 3), same_width=True),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "One number for each query and key: what are the shapes of the two, and of the table?",
        "A matrix product sums over the last axis of the left and the last but one of the right. "
        "Which of the two inputs must be turned for that?",
        "Turn only its last two axes, so that the batch stays in front: `.mT` does that.",
    ),
)
