"""Exercise: the causal mask, with the place of the first query among the keys."""

from typing import Any

from course_utils.attention import causal_mask
from course_utils.checking.exercise import Case, Exercise
from course_utils.exercises.ch06_masks._causal_mistakes import MISCONCEPTIONS
from course_utils.exercises.ch06_masks._mask_kinds import rows_tell


def _case(name: str, *args: Any) -> Case:
    return Case(name, lambda g: args)


EXERCISE = Exercise(
    name="causal_mask",
    chapter=6,
    signature="causal_mask(num_queries, num_keys, offset=0)",
    asks="Say which keys each query may see: query i those up to key i + offset.",
    reference=causal_mask,
    minutes=8,
    difficulty=2,
    importance=5,
    cases=(
        _case("4 queries, 4 keys", 4, 4),
        _case("3 queries, 5 keys, no offset given", 3, 5),
        _case("6 queries, 4 keys, no offset given", 6, 4),
        _case("3 queries, 7 keys, offset 4: the queries are the last ones", 3, 7, 4),
        _case("4 queries, 8 keys, offset 2", 4, 8, 2),
        _case("5 queries, 5 keys, offset 1", 5, 5, 1),
        _case("5 queries, 6 keys, offset -2: two queries see nothing", 5, 6, -2),
        _case("7 queries, 4 keys, offset -3", 7, 4, -3),
        _case("2 queries, 4 keys, offset 9: all keys are past", 2, 4, 9),
        _case("3 queries, 4 keys, offset -5: all keys are future", 3, 4, -5),
        _case("1 query, 6 keys, offset 3", 1, 6, 3),
        _case("5 queries, 1 key", 5, 1),
        _case("1 query, 1 key, offset -1", 1, 1, -1),
        _case("33 queries, 70 keys, offset 20", 33, 70, 20),
    ),
    misconceptions=MISCONCEPTIONS,
    properties=(
        rows_tell("query i sees the keys from 0 up to i + offset, and no others", causal_mask),
    ),
    hints=(
        "Draw the table for 3 queries and 5 keys with offset 2: a row for each query. Which keys "
        "does the first query see?",
        "Every entry asks one question of two numbers: the key's place j, and i + offset. Which "
        "comparison is it, and is equality allowed?",
        "`torch.arange` gives the places. With one of the two as a column (`unsqueeze(-1)`), a "
        "single comparison fills the whole table; `tril` with its `diagonal` is another way.",
    ),
)
