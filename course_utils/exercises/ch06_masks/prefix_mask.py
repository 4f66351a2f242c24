"""Exercise: the prefix mask, open for the prompt and causal for the answer."""

from course_utils.attention import prefix_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell
from course_utils.exercises.ch06_masks._prefix_mistakes import MISCONCEPTIONS


def _case(name: str, num_positions: int, prefix_length: int) -> Case:
    return Case(name, lambda g: (num_positions, prefix_length))


EXERCISE = Exercise(
    name="prefix_mask",
    chapter=6,
    signature="prefix_mask(num_positions, prefix_length)",
    asks="Let every query see the whole prefix, and beyond it only what came before.",
    reference=prefix_mask,
    minutes=5,
    difficulty=1,
    importance=3,
    cases=(
        _case("6 positions, a prefix of 3", 6, 3),
        _case("7 positions, a prefix of 2", 7, 2),
        _case("5 positions, a prefix of 4", 5, 4),
        _case("no prefix: causal", 5, 0),
        _case("a prefix of 1: causal too", 4, 1),
        _case("nothing but prefix", 4, 4),
        _case("one position, no prefix", 1, 0),
        _case("one position, in the prefix", 1, 1),
        _case("40 positions, a prefix of 23", 40, 23),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        rows_tell("key j is seen when j < prefix_length or j <= i, and no other is", prefix_mask),
    ),
    hints=(
        "A text to be translated is there from the start; its translation is written word by word. "
        "Which of the two has a future?",
        "A key is seen for one of two reasons. One of them is the causal mask that you have. What "
        "does the other depend on: the query, the key, or both?",
        "Whether a key belongs to the prefix is a row of booleans, (L,), the same for every query. "
        "Which operator says 'one or the other' of two boolean tables?",
    ),
)
