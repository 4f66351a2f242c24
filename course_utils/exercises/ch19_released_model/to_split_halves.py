"""Exercise: TODO, in a few words."""

from course_utils.positions import to_split_halves
from course_utils.checking.exercise import case, exercise

RIGHT = """
def to_split_halves(features, num_heads=1, dim=-1):
    return _reordered(features, num_heads, dim, (-1, 2))
"""

EXERCISE = exercise(
    to_split_halves,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", TODO=2),
        case("other sizes", TODO=2),
        case("float32", TODO=2, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
