"""Exercise: the sliding window, causal, with the place of the first query among the keys."""

from course_utils.attention import window_mask
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, saying, without
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
def window_mask(num_queries, num_keys, window, offset=0):
    rows = torch.arange(num_queries).unsqueeze(-1)
    i = rows + offset
    j = torch.arange(num_keys)
    past = j <= i
    near = j > i - window
    mask = past & near
    return mask
"""
_FILLED = """
mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
for row in range(num_queries):
    mask[row, {begin} : row + offset + 1] = True
return mask
"""

EXERCISE = exercise(
    window_mask,
    right=RIGHT,
    asks="Let each query see its own key and those just before it, `window` keys at most.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("7 queries, 7 keys, window 3", given(7, 7, 3)),
        case("5 queries, 8 keys, window 2, no offset given", given(5, 8, 2)),
        case("9 queries, 6 keys, window 4, no offset given", given(9, 6, 4)),
        case("window 1: only its own key", given(5, 5, 1)),
        case("window 6 for 4 keys: as good as causal", given(4, 4, 6)),
        case("window 7 for 5 keys, offset 3", given(6, 5, 7, 3)),
        case("4 queries, 9 keys, window 3, offset 5: the queries are the last ones", given(4, 9, 3, 5)),
        case("5 queries, 9 keys, window 5, offset 2", given(5, 9, 5, 2)),
        case("6 queries, 5 keys, window 2, offset 3: the last window leaves the keys", given(6, 5, 2, 3)),
        case("6 queries, 6 keys, window 3, offset -2: two queries see nothing", given(6, 6, 3, -2)),
        case("2 queries, 3 keys, window 2, offset 9: all keys are too far back", given(2, 3, 2, 9)),
        case("1 query, 8 keys, window 4, offset 5", given(1, 8, 4, 5)),
        case("1 query, 1 key, window 1", given(1, 1, 1)),
        case("40 queries, 64 keys, window 17, offset 24", given(40, 64, 17, 24)),
    ),
    mistakes=(
        *KINDS,
        left_out(),
        mistake("window too long by one", "Each query sees its own key and `window` more. Its own key counts: with "
                "window 1, how many keys are seen?", "near = j >= i - window", "near = j >= i - window - 1"),
        mistake("window too short by one", "Each query sees one key too few, and with window 1 none at all. The own "
                "key is one of the window: how far back does the rest reach?",
                "near = j > i - window + 1", "near = j > i - window + 2"),
        mistake("half the window", "The window was halved, as for one that reaches to both sides. A causal one reaches "
                "only into the past: how many keys does each query see with window 4?",
                "near = j >= i - window // 2", "near = j > i - window // 2", "near = j > i - (window + 1) // 2"),
        *saying(
            adding(PAST, {
                "own key hidden": ("i = rows + offset - 1",),
                "one key of the future seen": ("i = rows + offset + 1",),
                "not causal": ("mask = j >= i - window",),
            }),
            {
                "own key hidden": "The window ends before the query's own key. A query may see itself: which of the "
                "two edges stands one too far to the left?",
                "one key of the future seen": "Each query sees the next key, the one to be predicted. The later edge "
                "is the causal mask's: where does it stand?",
                "not causal": "The past is cut off where it should be, but the future is open. Which second comparison "
                "is missing?",
            },
        ),
        mistake("earlier edge with the wrong sign", "With window 3 no query sees anything: both edges were moved the "
                "same way, and a key must pass both. On which side of its own key does the window begin?",
                "near = j >= i + window - 1", "near = j >= i + window"),
        mistake("window on both sides", "Each query also sees keys after its own: the distance has lost its sign. "
                "Which keys may a causal query never see?",
                "mask = (i - j).abs() < window", "mask = (i - j).abs() <= window",
                "mask = (i - j).abs() <= window // 2", "mask = (i - j).abs() < (window + 1) // 2"),
        mistake("window to the front", "The window begins at the query's own key and reaches into the future. On which "
                "side of the diagonal does the past stand?",
                "mask = (j >= i) & (j < i + window)", "mask = (j > i) & (j <= i + window)",
                "mask = (j >= i) & (j <= i + window)", "mask = (j > i) & (j < i + window)"),
        mistake("no window", "The whole past is seen: this is the causal mask. Where is `window` used?", "mask = past"),
        mistake("the keys before the window", "Each query sees only keys that are too far back. Which of the two sides "
                "of that edge is the window?", "mask = j <= i - window", "mask = j < i - window"),
        mistake("blocks instead of a sliding window", "Queries see their own block only, so some see one key and their "
                "neighbour `window`. Where does the window of the next query begin?",
                "near = i // window == j // window", "mask = i // window == j // window"),
        mistake("window counted from the first key", "Every query sees the same first keys. The window moves along: "
                "from which key is it counted?", "near = j < window", "mask = (j < window).repeat(num_queries, 1)"),
        mistake("window counted from the last key", "Every query sees the same last keys, as far as they are not its "
                "future. The window moves along: from which key is it counted?", "near = j >= num_keys - window"),
        mistake("window limited to the number of keys", "A window longer than the table was cut to its length. For a "
                "query that stands behind the last key, that hides some: from where does a window count back?",
                "near = j > i - min(window, num_keys)"),
        mistake("the first key always seen", "Every query sees key 0, however far back it is. An attention sink does "
                "that; which keys does a plain window leave open?", "return mask | (j == 0)"),
        mistake("an index beyond the last key", "It stops where a window leaves the table: the loop goes on to a key "
                "that is not there. Where does a row end?",
                "mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)\nfor row in range(num_queries):\n"
                "    for key in range(max(0, row + offset - window + 1), row + offset + 1):\n"
                "        mask[row, key] = True\nreturn mask"),
        mistake("short rows filled up", "The first queries were given `window` keys too, some of them in the future. "
                "`window` is the most a query sees: what if its past is shorter?",
                "mask = (past & near) | ((i < window) & (j < window))"),
        mistake("only the key at the window's edge", "Each query sees a single key, the first of its window. Which "
                "keys come between that and its own?",
                "mask = j == i - window + 1", "mask = j == i - window", "near = (i - j) % window == 0"),
        mistake("one condition enough", "Every query sees every key. Take a key of the future: which of your two "
                "conditions does it fail, and why is it seen all the same?", "mask = past | near"),
        *saying(
            adding(without((*OFFSET, EMPTY, *SIZES), "return mask | (j == 0)"), {
                EMPTY.name: (
                    "return mask | (~mask.any(-1, keepdim=True) & (j == 0))",
                    "return mask | (past & ~mask.any(-1, keepdim=True))", "i = (rows + offset).clamp(min=0)"),
            }),
            {
                "offset with the wrong sign": "A larger offset moves the window to earlier keys. Which way does it "
                "move when more keys come before the first query?",
                EMPTY.name: "A query whose window holds no key was given some. An empty row is a legal mask: the "
                "softmax has to cope with it. Which keys are in that window?",
            },
        ),
        mistake("offset in one edge only", "With an offset one edge of the window moves and the other stays, so it "
                "grows or vanishes. Both edges are counted from the query's own place: which is that?",
                "near = j > rows - window", "past = j <= rows", "near = j > rows - offset - window",
                "past = j <= rows - offset", "near = (j <= rows) & (j > rows - window)"),
        mistake("window and offset exchanged", "What was given as the window moved the diagonal, as an offset does. In "
                "which order do the arguments come?", "offset, window = window, offset or 1\ni = rows + offset"),
        mistake("negative index counted from the end", "An index or the end of a slice became negative, and Python "
                "counts such a place from the end of the row: a query sees keys that it should not. Where does the "
                "table begin?",
                "mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)\nfor row in range(num_queries):\n"
                "    for key in range(row + offset - window + 1, row + offset + 1):\n"
                "        if -num_keys <= key < num_keys:\n            mask[row, key] = True\nreturn mask",
                _FILLED.format(begin="max(0, row + offset - window + 1)"),
                _FILLED.format(begin="row + offset - window + 1")),
        AXES,
    ),
    laws=rows_tell(
        "query i sees its own key i + offset and the window - 1 keys before it, where they exist", window_mask
    ),
    hints=(
        "Write down which keys query 5 sees with window 3 and offset 0. How many are there, and which is the first?",
        "A window has two edges. The later one is the causal mask's. How far before its own key may a query look if "
        "that key counts as one of the window?",
        "Two comparisons of the key's place with i + offset, one for each edge, and both must hold. Try them with "
        "window 1: exactly one key is left.",
    ),
)
