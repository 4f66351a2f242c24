"""Exercise: TODO, in a few words."""

from course_utils.data import merge_by_rank
from course_utils.checking.exercise import case, exercise

RIGHT = """
def merge_by_rank(piece, ranks):
    symbols = list(piece)
    while len(symbols) > 1:
        first = min(pairwise(symbols), key=lambda pair: ranks.get(pair, len(ranks)))
        if first not in ranks:
            break
        symbols = merged(symbols, first)
    return symbols
"""

EXERCISE = exercise(
    merge_by_rank,
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
