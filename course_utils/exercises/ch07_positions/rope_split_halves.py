"""Exercise: RoPE with the two halves of each head as pairs."""

from course_utils.checking.exercise import exercise
from course_utils.exercises.shared.positions import INTERLEAVED, SPLIT_HALVES, rotated
from course_utils.positions import rope_split_halves

EXERCISE = exercise(
    rope_split_halves,
    **rotated(rope_split_halves, SPLIT_HALVES, INTERLEAVED),
    asks="Turn each pair of features (i, i + d_k/2) by the token's position times the pair's frequency.",
    minutes=10,
    difficulty=3,
    importance=5,
    hints=(
        "Frequencies and angles are those of the other pairing. Only one question is new: which features meet?",
        "`chunk(2, dim=-1)` gives the first members of all pairs, then all the second members.",
        "The result has the same layout as x: all the first members, then all the second ones.",
        "Published code writes x · cos + rotate_half(x) · sin with tables of the full width. Which feature does "
        "rotate_half bring to the place of feature 0, and with which sign?",
    ),
)
