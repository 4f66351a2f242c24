"""Exercise: the prefix mask, open for the prompt and causal for the answer."""

from course_utils.attention import prefix_mask
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.masks import AXES, KINDS, PAST, SIZES, left_out, rows_tell

RIGHT = """
def prefix_mask(num_positions, prefix_length):
    i = torch.arange(num_positions).unsqueeze(-1)
    j = torch.arange(num_positions)
    past = j <= i
    prefix = j < prefix_length
    mask = prefix | past
    return mask
"""

EXERCISE = exercise(
    prefix_mask,
    right=RIGHT,
    asks="Let every query see the whole prefix, and beyond it only what came before.",
    minutes=5,
    difficulty=1,
    importance=3,
    cases=(
        case("6 positions, a prefix of 3", given(6, 3)),
        case("7 positions, a prefix of 2", given(7, 2)),
        case("5 positions, a prefix of 4", given(5, 4)),
        case("no prefix: causal", given(5, 0)),
        case("a prefix of 1: causal too", given(4, 1)),
        case("nothing but prefix", given(4, 4)),
        case("one position, no prefix", given(1, 0)),
        case("one position, in the prefix", given(1, 1)),
        case("40 positions, a prefix of 23", given(40, 23)),
    ),
    mistakes=(
        *KINDS,
        left_out(),
        mistake("prefix ignored", "This is the causal mask: inside the prefix, queries do not see what follows them. "
                "Where is `prefix_length` used?", "mask = past"),
        mistake("both conditions required", "Nothing is seen beyond the prefix, not even by a query that stands there. "
                "Take its own key: which of your two conditions does it fail?", "mask = prefix & past"),
        mistake("only the prefix seen", "Everyone sees the prefix and nothing else, not even itself. What may a query "
                "beyond the prefix see besides it?", "mask = prefix.repeat(num_positions, 1)"),
        mistake("prefix too long by one", "One key more than the prefix is open to everybody. With prefix_length 3, "
                "which numbers do the keys of the prefix have?", "prefix = j <= prefix_length"),
        mistake("prefix too short by one", "The last key of the prefix is hidden from those before it. With "
                "prefix_length 3, which numbers do the keys of the prefix have?", "prefix = j < prefix_length - 1"),
        mistake("queries of the prefix see everything", "Queries of the prefix see the keys beyond it as well. Is it "
                "the query or the key that has to be in the prefix?",
                "prefix = i < prefix_length", "prefix = i <= prefix_length"),
        mistake("prefix hidden from the rest", "Queries beyond the prefix do not see it: the answer never reads its "
                "question. Who may read the prefix?",
                "mask = (prefix & (i < prefix_length)) | (~prefix & past)", "mask = prefix & (i < prefix_length)"),
        mistake("keys of the prefix hidden", "Nobody sees the keys of the prefix, and its queries see nothing. Are "
                "those keys closed to all, or open to all?",
                "mask = ~prefix & past", "mask = (j > prefix_length) & past"),
        mistake("one key opened instead of the prefix", "A single key was opened to all, the one whose number is the "
                "length. Which keys come before that one?",
                "prefix = j == prefix_length", "prefix = j == prefix_length - 1"),
        *saying(PAST, {
            "own key hidden": "Beyond the prefix a query does not see its own key. Which comparison allows equality?",
            "one key of the future seen": "Beyond the prefix each query sees the next key, the one to be predicted. "
                "Which diagonal is the last one allowed?",
            "the future instead of the past": "Beyond the prefix each query sees the future and not the past. On "
                "which side of the diagonal does a row's past stand?",
            "not causal": "Every query sees every key. Which keys are neither in the prefix nor in the past?",
            "only its own key": "Beyond the prefix a query sees itself, but none of those between. Which keys are in "
                "its past?",
        }),
        mistake("prefix length moves the diagonal", "Every query sees `prefix_length` keys of its future, wherever it "
                "stands. A prefix is a fixed part of the keys: does its end move with the query?",
                "mask = j <= i + prefix_length", "mask = j <= i + prefix_length - 1"),
        mistake("exactly one condition required", "A key that is in the prefix and in the past is not seen. Should a "
                "second reason take the first away?", "mask = prefix ^ past"),
        mistake("prefix causal, the rest open", "The two parts are exchanged: the prefix is causal, and after it "
                "everything is seen. Which part is known from the start?", "mask = past | (i >= prefix_length)",
                "mask = past | (j >= prefix_length)", "mask = past | (j > prefix_length)"),
        mistake("prefix at the end", "The last keys are open to everybody instead of the first. Where does a prefix "
                "stand?", "prefix = j >= num_positions - prefix_length"),
        *saying(
            without(SIZES, "one size for both axes",
                    "rows = torch.arange(num_keys).unsqueeze(-1)\nj = torch.arange(num_queries)"),
            {
                "queries and keys exchanged": "The table is transposed: what stands in a row should stand in a column. "
                "In (L, S), which axis are the queries?"
            },
        ),
        mistake("no prefix means everything", "A prefix of length 0 opened every key. It is a number like any other: "
                "what is left of the rule when no j is below it?", "prefix = j < (prefix_length or num_positions)",
                "prefix = j < max(prefix_length, min(num_positions, 2))"),
        mistake("the prefix counted on top", "The table is larger or smaller by the prefix. `num_positions` counts all "
                "tokens: where are those of the prefix among them?",
                *(f"n = num_positions + prefix_length\n"
                  f"rows, keys = torch.arange({rows}).unsqueeze(-1), torch.arange(n)\n"
                  f"mask = (keys < prefix_length) | (keys <= rows{more})"
                  for rows, more in (("n", ""), ("num_positions", " + prefix_length"))),
                "mask = (prefix | past)[prefix_length:]"),
        mistake("the two numbers exchanged", "The size of the table is that of the prefix. In which order do the "
                "arguments come?", "num_positions, prefix_length = prefix_length, num_positions\n"
                "i = torch.arange(num_positions).unsqueeze(-1)\nj = torch.arange(num_positions)"),
        mistake("two masks added", "Sums of masks hold 2 where both are True, and they are numbers. Which operator "
                "joins booleans?", "mask = prefix.float() + past.float()", "mask = prefix.long() + past.long()"),
        AXES,
    ),
    laws=rows_tell("key j is seen when j < prefix_length or j <= i, and no other is", prefix_mask),
    hints=(
        "A text to be translated is there from the start; its translation is written word by word. Which of the two "
        "has a future?",
        "A key is seen for one of two reasons. One of them is the causal mask that you have. What does the other "
        "depend on: the query, the key, or both?",
        "Whether a key belongs to the prefix is a row of booleans, (L,), the same for every query. Which operator says "
        "'one or the other' of two boolean tables?",
    ),
)
