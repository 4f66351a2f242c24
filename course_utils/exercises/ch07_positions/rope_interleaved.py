"""Exercise: RoPE with neighbours as pairs."""

from course_utils.checking.exercise import exercise
from course_utils.exercises.shared.kinds import multiplied
from course_utils.exercises.shared.positions import (
    INTERLEAVED,
    ROTATION_CASES,
    ROTATION_LAWS,
    SPLIT_HALVES,
    rotation,
)
from course_utils.exercises.shared.precision import lower_precision
from course_utils.positions import rope_interleaved

RIGHT = """
def rope_interleaved(x, positions, base=10000.0):
    width = x.shape[-1]
    used = float(base)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    exponents = 2 * pairs / width
    frequencies = used**-exponents
    given = positions.double()
    places = given.unsqueeze(1) if given.dim() == 2 else given
    angles = places.unsqueeze(-1) * frequencies
    cosines = angles.cos().to(x.dtype)
    sines = angles.sin().to(x.dtype)
    u, v = x[..., 0::2], x[..., 1::2]
    first = u * cosines - v * sines
    second = u * sines + v * cosines
    turned = torch.stack((first, second), dim=-1).flatten(-2)
    return turned
"""

EXERCISE = exercise(
    rope_interleaved,
    right=RIGHT,
    asks="Turn each pair of features (2i, 2i+1) by the token's position times the pair's frequency.",
    minutes=20,
    difficulty=3,
    importance=5,
    cases=ROTATION_CASES,
    mistakes=(
        *rotation(INTERLEAVED, SPLIT_HALVES),
        multiplied(rope_interleaved, "return turned / math.sqrt(width)"),
        lower_precision(rope_interleaved, "return turned.half().to(x.dtype)", "return turned.bfloat16().to(x.dtype)"),
    ),
    laws=ROTATION_LAWS,
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
