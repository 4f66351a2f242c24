"""Exercise: which positions a cache with a window and sinks still holds."""

from course_utils.attention import rolling_cache_positions
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch10_kv_cache._rolling_mistakes import MISCONCEPTIONS

EXERCISE = Exercise(
    name="rolling_cache_positions",
    chapter=10,
    signature="rolling_cache_positions(num_seen, window, num_sinks)",
    asks="List the positions that are kept: the first `num_sinks` and the last `window`.",
    reference=rolling_cache_positions,
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        Case("20 seen, a window of 6, 2 sinks", given(20, 6, 2)),
        Case("20 seen, a window of 7, no sinks", given(20, 7, 0)),
        Case("17 seen, a window of 3, 5 sinks", given(17, 3, 5)),
        Case("a window that begins right after the sinks", given(9, 6, 3)),
        Case("a window that reaches into the sinks", given(8, 6, 3)),
        Case("a window that reaches over the sinks", given(7, 6, 3)),
        Case("one position between sinks and window", given(10, 6, 3)),
        Case("a window longer than the text", given(4, 9, 2)),
        Case("a window as long as the text", given(6, 6, 2)),
        Case("a window longer than the text, no sinks", given(4, 9, 0)),
        Case("more sinks than tokens", given(3, 2, 8)),
        Case("more sinks than tokens, and a longer window", given(3, 7, 5)),
        Case("nothing seen yet", given(0, 4, 2)),
        Case("one token", given(1, 4, 2)),
        Case("a window of one", given(9, 1, 2)),
        Case("a window of one, no sinks", given(9, 1, 0)),
        Case("a window of one, one token, one sink", given(1, 1, 1)),
        Case("300 seen, a window of 12, 4 sinks", given(300, 12, 4)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Write the positions 0 to 8 in a row and mark the first 3 and the last 6. What changes "
        "with one token less?",
        "Two ranges, one behind the other. The second must not begin inside the first, nor before "
        "the text.",
        "The sinks end at the smaller of `num_sinks` and `num_seen`. The window would begin at "
        "`num_seen - window`; it begins where the sinks end, if that is later.",
    ),
)
