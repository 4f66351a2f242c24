"""Exercise: RoPE with the two halves of each head as pairs."""

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
from course_utils.positions import rope_split_halves

RIGHT = """
def rope_split_halves(x, positions, base=10000.0):
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
    u, v = x.chunk(2, dim=-1)
    first = u * cosines - v * sines
    second = u * sines + v * cosines
    turned = torch.cat((first, second), dim=-1)
    return turned
"""

EXERCISE = exercise(
    rope_split_halves,
    right=RIGHT,
    asks="Turn each pair of features (i, i + d_k/2) by the token's position times the pair's frequency.",
    minutes=10,
    difficulty=3,
    importance=5,
    cases=ROTATION_CASES,
    mistakes=(
        *rotation(SPLIT_HALVES, INTERLEAVED),
        multiplied(rope_split_halves, "return turned / math.sqrt(width)"),
        lower_precision(rope_split_halves, "return turned.half().to(x.dtype)", "return turned.bfloat16().to(x.dtype)"),
    ),
    laws=ROTATION_LAWS,
    hints=(
        "Frequencies and angles are those of the other pairing. Only one question is new: which features meet?",
        "`chunk(2, dim=-1)` gives the first members of all pairs, then all the second members.",
        "The result has the same layout as x: all the first members, then all the second ones.",
        "Published code writes x · cos + rotate_half(x) · sin with tables of the full width. Which feature does "
        "rotate_half bring to the place of feature 0, and with which sign?",
    ),
)
