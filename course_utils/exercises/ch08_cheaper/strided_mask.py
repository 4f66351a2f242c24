"""Exercise: the strided pattern of the sparse Transformer."""

from course_utils.attention import strided_mask
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.masks import AXES, KINDS, PAST, left_out, rows_tell

RIGHT = """
def strided_mask(num_positions, stride):
    i = torch.arange(num_positions).unsqueeze(-1)
    j = torch.arange(num_positions)
    past = j <= i
    back = i - j
    near = back < stride
    far = back % stride == 0
    pattern = near | far
    mask = past & pattern
    return mask
"""

EXERCISE = exercise(
    strided_mask,
    right=RIGHT,
    asks="Let each query see the last `stride` keys, and every `stride`-th key before them.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        case("10 positions, stride 3", given(10, 3)),
        case("12 positions, stride 4", given(12, 4)),
        case("17 positions, stride 5", given(17, 5)),
        case("9 positions, stride 2", given(9, 2)),
        case("stride 1: the whole past", given(6, 1)),
        case("stride 8 for 5 positions", given(5, 8)),
        case("6 positions, stride 6", given(6, 6)),
        case("1 position, stride 2", given(1, 2)),
        case("64 positions, stride 8", given(64, 8)),
        case("100 positions, stride 7", given(100, 7)),
    ),
    mistakes=(
        *KINDS,
        left_out(),
        *saying(
            adding(without(PAST, "only its own key"), {
                "not causal": ("mask = (back.abs() < stride) | far", "mask = (past & near) | far",
                    "mask = near | (past & far)",
                    "mask = (back.abs() < stride) | (past & far)"),
                "the future instead of the past": ("past = j >= i\nback = j - i",),
            }),
            {
                "not causal": "The pattern reaches into the future: the distance has no sign, or one half of the "
                "pattern is never cut off. Which keys may a query never see?",
                "the future instead of the past": "Each query sees keys after its own. On which side of the diagonal "
                "is the past?",
                "one key of the future seen": "Each query sees the next key too. On which diagonal does the past end?",
                "own key hidden": "A query does not see itself. 0 is less than `stride`, and a multiple of it: which "
                "comparison leaves it out?",
            },
        ),
        mistake("half the near part", "Only half of the near keys are seen. A causal stretch of `stride` keys reaches "
                "only into the past: how many are near with stride 4?",
                "near = back < stride // 2", "near = back <= stride // 2"),
        mistake("only the last keys", "Each query sees the last `stride` keys alone: that is a window. Which keys "
                "further back belong to the pattern?", "pattern = near"),
        mistake("only each stride-th key", "Each query sees every stride-th key and nothing between. Which keys near "
                "its own belong to the pattern?", "pattern = far"),
        mistake("both conditions required", "A key must pass both conditions, so only its own does. Each of the "
                "two heads of the paper has one of them: how are two sets joined?", "pattern = near & far"),
        mistake("the near part too short by one", "One near key is missing. With stride 3, which three keys are less "
                "than 3 back?", "near = back < stride - 1"),
        mistake("the stride off by one", "The far keys are not a multiple of the stride back. Count the distance of "
                "its own key: from 0 or from 1?",
                "far = (back + 1) % stride == 0", "far = (back - 1) % stride == 0", "far = back % (stride + 1) == 0",
                "far = back % max(1, stride - 1) == 0", "near = back <= stride\nfar = back % (stride + 1) == 0"),
        mistake("the near part too long", "More near keys are seen than `stride`. Which keys are less than `stride` "
                "back, counting the query's own?", "near = back <= stride + 1", "near = back < 2 * stride"),
        mistake("columns instead of distances", "All queries see the same far keys, whatever their own place: the "
                "key's index was divided by the stride, instead of its distance.",
                "far = j % stride == 0", "far = j % stride == stride - 1"),
        mistake("rows instead of distances", "What a query sees further back depends on its own number: some queries "
                "see far keys at other distances than the rest, or all of them. The rule is about how far back a key "
                "is.",
                "far = i % stride == 0", "far = (i + j) % stride == 0"),
        mistake("blocks for the near part", "The near keys are those of the query's own block, so some queries see few "
                "of them. How far back does `stride` reach from each query?", "near = i // stride == j // stride",
                "near = i // stride == j // stride\nfar = j % stride == stride - 1"),
        mistake("only one key further back", "The far keys end after the first: each multiple of the stride counts, "
                "down to the first key.", "far = back == stride", "far = back == 2 * stride"),
        mistake("the first key never reached", "Key 0 is not seen from afar, though the stride leads to it. Does your "
                "`range` stop at 0, or before it?", "far = (back % stride == 0) & (j > 0)"),
        mistake("negative index counted from the end", "The beginning of a slice became negative, and Python counts "
                "such a place from the end of the row: the first queries miss near keys. Where does the row begin?",
                "low = i - stride + 1\nnear = j >= torch.where(low < 0, (low + num_positions).clamp(min=0), low)"),
        mistake("the two heads kept apart", "There are two masks, one for each head of the paper. Here one head sees "
                "what both of them see: what joins two sets?",
                "return torch.stack((past & near, past & far))", "return past & near, past & far",
                "return torch.stack((past & far, past & near))", "return past & far, past & near"),
        mistake("the arguments swapped", "The mask has as many rows as the stride says. In which order do the two "
                "arguments come?", "num_positions, stride = stride, num_positions\n"
                "i = torch.arange(num_positions).unsqueeze(-1)"),
        mistake("every key of the past", "The whole past is seen: this is the causal mask. What does the pattern leave "
                "out?", "mask = past"),
        AXES,
    ),
    laws=rows_tell("query i sees key j <= i where i - j < stride, or where stride divides i - j", strided_mask),
    hints=(
        "Write down what query 9 sees with stride 3: the near keys first, then those further back.",
        "Both rules are about how far back a key is. Which table holds i - j for all pairs?",
        "A key is seen where one rule or the other holds, and it is not ahead of the query.",
    ),
)
