"""Exercise: TODO, in a few words."""

from course_utils.models import stream_text
from course_utils.checking.exercise import case, exercise

RIGHT = """
def stream_text(pieces):
    for number, one in enumerate(pieces):
        check_instance(bytes, **{f'piece {number} of pieces': one})
    decoder = codecs.getincrementaldecoder('utf-8')('replace')
    last = len(pieces) - 1
    return [decoder.decode(piece, number == last) for number, piece in enumerate(pieces)]
"""

EXERCISE = exercise(
    stream_text,
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
