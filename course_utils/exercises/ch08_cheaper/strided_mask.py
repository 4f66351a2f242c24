"""Exercise: the strided pattern of the sparse Transformer."""

from typing import Any

from course_utils.attention import strided_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell
from course_utils.exercises.ch08_cheaper._strided_mistakes import STRIDED


def _case(name: str, *args: Any) -> Case:
    return Case(name, lambda g: args)


EXERCISE = Exercise(
    name="strided_mask",
    chapter=8,
    signature="strided_mask(num_positions, stride)",
    asks="Let each query see the last `stride` keys, and each stride-th key before.",
    reference=strided_mask,
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        _case("10 positions, stride 3", 10, 3),
        _case("12 positions, stride 4", 12, 4),
        _case("17 positions, stride 5", 17, 5),
        _case("9 positions, stride 2", 9, 2),
        _case("stride 1: the whole past", 6, 1),
        _case("stride 8 for 5 positions", 5, 8),
        _case("6 positions, stride 6", 6, 6),
        _case("1 position, stride 2", 1, 2),
        _case("64 positions, stride 8", 64, 8),
        _case("100 positions, stride 7", 100, 7),
    ),
    misconceptions=STRIDED,
    properties=(
        rows_tell(
            "query i sees key j <= i where i - j < stride, or where stride divides i - j",
            strided_mask,
        ),
    ),
    hints=(
        "Write down what query 9 sees with stride 3: the near keys first, then those further back.",
        "Both rules are about how far back a key lies. Which table holds i - j for all pairs?",
        "A key is seen where one rule or the other holds, and it does not lie ahead.",
    ),
)
