"""Exercise: RoPE with neighbours as pairs."""

from course_utils.checking.exercise import exercise
from course_utils.exercises.shared.positions import INTERLEAVED, SPLIT_HALVES, rotated
from course_utils.positions import rope_interleaved

EXERCISE = exercise(
    rope_interleaved,
    **rotated(rope_interleaved, INTERLEAVED, SPLIT_HALVES),
    asks="Turn each pair of features (2i, 2i+1) by the token's position times the pair's frequency.",
    minutes=20,
    difficulty=3,
    importance=5,
    hints=(
        "Three steps: the frequency of each of the d_k/2 pairs, the angle of each token and pair, and the rotation of "
        "the pairs. What shape does the table of angles have?",
        "`x[..., 0::2]` holds the first members of all pairs. How do you get the second ones?",
        "Positions (L,) give angles (L, d_k/2), which fit x as they are. Positions (B, L) give (B, L, d_k/2): where "
        "do the heads need an axis of size 1?",
        "To put the members back next to each other: stack them along a new last axis, then merge the last two axes.",
        "Position 0 must leave x as it is, and every pair keeps its length. Test both before you check; keep x's dtype "
        "by casting cosines and sines to it.",
    ),
)
