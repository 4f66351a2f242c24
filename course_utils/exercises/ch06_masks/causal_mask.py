"""Exercise: the causal mask, with the place of the first query among the keys."""

from course_utils.attention import causal_mask
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.exercises.shared.masks import (
    AXES,
    EMPTY,
    KINDS,
    OFFSET,
    PAST,
    SIZES,
    left_out,
    rows_tell,
)

RIGHT = """
def causal_mask(num_queries, num_keys, offset=0):
    rows = torch.arange(num_queries).unsqueeze(-1)
    i = rows + offset
    j = torch.arange(num_keys)
    past = j <= i
    mask = past
    return mask
"""

EXERCISE = exercise(
    causal_mask,
    right=RIGHT,
    asks="Say which keys each query may see: query i those up to key i + offset.",
    minutes=8,
    difficulty=2,
    importance=5,
    cases=(
        case("4 queries, 4 keys", given(4, 4)),
        case("3 queries, 5 keys, no offset given", given(3, 5)),
        case("6 queries, 4 keys, no offset given", given(6, 4)),
        case("3 queries, 7 keys, offset 4: the queries are the last ones", given(3, 7, 4)),
        case("4 queries, 8 keys, offset 2", given(4, 8, 2)),
        case("5 queries, 5 keys, offset 1", given(5, 5, 1)),
        case("5 queries, 6 keys, offset -2: two queries see nothing", given(5, 6, -2)),
        case("7 queries, 4 keys, offset -3", given(7, 4, -3)),
        case("2 queries, 4 keys, offset 9: all keys are past", given(2, 4, 9)),
        case("3 queries, 4 keys, offset -5: all keys are future", given(3, 4, -5)),
        case("1 query, 6 keys, offset 3", given(1, 6, 3)),
        case("5 queries, 1 key", given(5, 1)),
        case("1 query, 1 key, offset -1", given(1, 1, -1)),
        case("33 queries, 70 keys, offset 20", given(33, 70, 20)),
    ),
    mistakes=(
        *KINDS,
        left_out(),
        *without(PAST, "past = j > i"),
        *adding((*OFFSET, EMPTY, *SIZES), {
            "negative offsets forgotten": (
                "longer = torch.ones(num_queries + max(offset, 0), num_keys, dtype=torch.bool).tril()\n"
                "return longer[offset:]", "assert offset >= 0\ni = rows + offset"),
            "one size for both axes": ("mask = past & (rows < num_keys) & (j < num_queries)",),
        }),
        mistake("the diagonal always seen", "Each query sees the key of its own number, whatever the offset. Where "
                "does query 0 stand if the offset is -2?", "return mask | (j == rows)"),
        mistake("the offset limited", "An offset that leaves the table was moved back to its edge: a query that stands "
                "before all keys sees some. Which offsets are allowed, and what is right there?",
                "i = rows + min(max(offset, 1 - num_queries), num_keys - 1)",
                "i = rows + max(offset, 1 - num_queries)"),
        mistake("keys before the first query hidden", "With an offset the first keys are hidden from all: they are "
                "older than query 0. Is what came before the first query past or future?",
                "past = (j <= i) & (j >= offset)", "past = (j <= rows).roll(offset, 1)",
                "past = torch.zeros(num_queries, num_keys, dtype=torch.bool)\nfor row in range(num_queries):\n"
                "    for key in range(row + 1):\n        if key + offset < num_keys:\n"
                "            past[row, key + offset] = True\nmask = past"),
        mistake("an index beyond the last key", "It stops where a query stands behind all keys: the loop goes on to a "
                "key that is not there. Where does the row end, and where does the past?",
                "mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)\nfor row in range(num_queries):\n"
                "    for key in range(row + offset + 1):\n        mask[row, key] = True\nreturn mask"),
        mistake("negative index counted from the end", "A slice ended at a negative place, and Python counts such a "
                "place from the end of the row: a query before all keys sees nearly all of them. Where must an "
                "empty slice end?",
                "mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)\nfor row in range(num_queries):\n"
                "    mask[row, : row + offset + 1] = True\nreturn mask"),
        mistake("offset read as a prefix", "The offset opened the first keys to everybody. It moves the edge of every "
                "row instead: up to which key does query i see?",
                "past = (j <= rows) | (j < offset)", "past = (j <= rows) | (j <= offset)"),
        mistake("offset read as a window", "The offset limits how far back a query sees. It says where the first query "
                "stands among the keys: what does it do to the edge of the future?",
                "past = (j <= rows) & (j >= rows - offset) if offset else j <= rows",
                "past = (j <= rows) & (j > rows - offset) if offset else j <= rows"),
        AXES,
    ),
    laws=rows_tell("query i sees the keys from 0 up to i + offset, and no others", causal_mask),
    hints=(
        "Draw the table for 3 queries and 5 keys with offset 2: a row for each query. Which keys does the first query "
        "see?",
        "Every entry asks one question of two numbers: the key's place j, and i + offset. Which comparison is it, and "
        "is equality allowed?",
        "`torch.arange` gives the places. With one of the two as a column (`unsqueeze(-1)`), a single comparison fills "
        "the whole table; `tril` with its `diagonal` is another way.",
    ),
)
