"""Exercise: the sliding window, causal, with the place of the first query among the keys."""

from typing import Any

from course_utils.attention import window_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell
from course_utils.exercises.ch06_masks._window_mistakes import EDGES
from course_utils.exercises.ch06_masks._window_place_mistakes import PLACES


def _case(name: str, *args: Any) -> Case:
    return Case(name, lambda g: args)


EXERCISE = Exercise(
    name="window_mask",
    chapter=6,
    signature="window_mask(num_queries, num_keys, window, offset=0)",
    asks="Let each query see its own key and those just before it, `window` keys at most.",
    reference=window_mask,
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        _case("7 queries, 7 keys, window 3", 7, 7, 3),
        _case("5 queries, 8 keys, window 2, no offset given", 5, 8, 2),
        _case("9 queries, 6 keys, window 4, no offset given", 9, 6, 4),
        _case("window 1: only the own key", 5, 5, 1),
        _case("window 6 for 4 keys: as good as causal", 4, 4, 6),
        _case("4 queries, 9 keys, window 3, offset 5: the queries are the last ones", 4, 9, 3, 5),
        _case("5 queries, 9 keys, window 5, offset 2", 5, 9, 5, 2),
        _case("6 queries, 5 keys, window 2, offset 3: the last window leaves the keys", 6, 5, 2, 3),
        _case("6 queries, 6 keys, window 3, offset -2: two queries see nothing", 6, 6, 3, -2),
        _case("2 queries, 3 keys, window 2, offset 9: all keys are too far back", 2, 3, 2, 9),
        _case("1 query, 8 keys, window 4, offset 5", 1, 8, 4, 5),
        _case("1 query, 1 key, window 1", 1, 1, 1),
        _case("40 queries, 64 keys, window 17, offset 24", 40, 64, 17, 24),
    ),
    misconceptions=(*EDGES, *PLACES),
    properties=(
        rows_tell(
            "query i sees its own key i + offset and the window - 1 keys before it, where they "
            "exist",
            window_mask,
        ),
    ),
    hints=(
        "Write down which keys query 5 sees with window 3 and offset 0. How many are there, and "
        "which is the first?",
        "A window has two edges. The later one is the causal mask's. How far before its own key "
        "may a query look if that key counts as one of the window?",
        "Two comparisons of the key's place with i + offset, one for each edge, and both must "
        "hold. Try them with window 1: exactly one key is left.",
    ),
)
