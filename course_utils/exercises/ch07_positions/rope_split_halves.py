"""Exercise: RoPE with the two halves of each head as pairs."""

from course_utils.exercises.ch07_positions._rope_exercise import rope_exercise
from course_utils.positions import rope_split_halves

EXERCISE = rope_exercise(
    "split halves",
    rope_split_halves,
    "Turn each pair of features (i, i + d_k/2) by the token's position times the pair's frequency.",
    (
        "Frequencies and angles are those of the other pairing. Only one question is new: which "
        "features meet?",
        "`chunk(2, dim=-1)` gives the first members of all pairs, then all second ones.",
        "The result has the same layout as x: all first members, then all second ones.",
        "Published code writes x · cos + rotate_half(x) · sin with tables of the full width. "
        "Which feature does rotate_half bring to the place of feature 0, and with which sign?",
    ),
    minutes=10,
)
