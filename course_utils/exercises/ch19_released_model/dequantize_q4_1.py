"""Exercise: TODO, in a few words."""

from course_utils.models import dequantize_q4_1
from course_utils.checking.exercise import case, exercise

RIGHT = """
def dequantize_q4_1(blocks):
    _check_blocks(blocks, Q4_1_BYTES)
    scale, low = _halves(blocks[:, :4]).split(1, dim=1)
    pairs = blocks[:, 4:]
    return torch.cat((pairs & 15, pairs >> 4), dim=1).float() * scale + low
"""

EXERCISE = exercise(
    dequantize_q4_1,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", n=2),
        case("other sizes", n=3),
        case("float32", n=2, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
