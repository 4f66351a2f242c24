"""Exercise: the fixed pattern of the sparse Transformer."""

from typing import Any

from course_utils.attention import fixed_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell
from course_utils.exercises.ch08_cheaper._fixed_mistakes import FIXED


def _case(name: str, *args: Any) -> Case:
    return Case(name, lambda g: args)


EXERCISE = Exercise(
    name="fixed_mask",
    chapter=8,
    signature="fixed_mask(num_positions, block, summary)",
    asks="Let each query see its own block, and the last `summary` keys of every block before.",
    reference=fixed_mask,
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        _case("12 positions, blocks of 4, summary 1", 12, 4, 1),
        _case("17 positions, blocks of 5, summary 2", 17, 5, 2),
        _case("11 positions, blocks of 3, summary 2: a block is cut short", 11, 3, 2),
        _case("14 positions, blocks of 6, summary 3", 14, 6, 3),
        _case("summary as long as the block: the whole past", 9, 3, 3),
        _case("blocks of 1", 6, 1, 1),
        _case("no summary", 10, 4, 0),
        _case("a block longer than the sequence", 5, 8, 2),
        _case("1 position, blocks of 2, summary 1", 1, 2, 1),
        _case("64 positions, blocks of 8, summary 2", 64, 8, 2),
        _case("100 positions, blocks of 7, summary 3", 100, 7, 3),
    ),
    misconceptions=FIXED,
    properties=(
        rows_tell(
            "query i sees key j <= i in its own block, or where j mod block >= block - summary",
            fixed_mask,
        ),
    ),
    hints=(
        "Cut 12 positions into blocks of 4. Which keys does query 9 see of its own block, and "
        "which one of each block before, if the summary is one key?",
        "`//` says in which block a position lies, `%` at which place of it.",
        "A key is seen where it shares the block or is a summary, and does not lie ahead.",
    ),
)
