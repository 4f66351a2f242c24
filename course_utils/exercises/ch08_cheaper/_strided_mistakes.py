"""What goes wrong in the strided pattern."""

from course_utils.attention import strided_mask
from course_utils.exercises.ch06_masks._mask_kinds import wrong_kinds
from course_utils.exercises.ch08_cheaper._patterns import axes_mistake, mistake

STRIDED = (
    *wrong_kinds(strided_mask),
    mistake(
        "not causal",
        "The pattern reaches into the future: the distance has no sign. Which keys may a query "
        "never see?",
        lambda i, j, s: ((i - j).abs() < s) | ((i - j) % s == 0),
        lambda i, j, s: (i - j < s) | ((i - j) % s == 0),
        lambda i, j, s: ((i - j < s) & (j <= i)) | ((i - j) % s == 0),
        lambda i, j, s: (i - j < s) | (((i - j) % s == 0) & (j <= i)),
    ),
    mistake(
        "the future instead of the past",
        "Each query sees keys after its own. On which side of the diagonal does the past stand?",
        lambda i, j, s: (j >= i) & ((j - i < s) | ((j - i) % s == 0)),
    ),
    mistake(
        "one key of the future seen",
        "Each query sees the next key too. On which diagonal does the past end?",
        lambda i, j, s: (j <= i + 1) & ((i - j < s) | ((i - j) % s == 0)),
        lambda i, j, s: (j <= i + 1) & (((i - j).abs() < s) | ((i - j) % s == 0)),
    ),
    mistake(
        "half the near part",
        "Only half of the near keys are seen. A causal stretch of `stride` keys lies wholly in the "
        "past: how many are near with stride 4?",
        lambda i, j, s: (j <= i) & ((i - j < s // 2) | ((i - j) % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j <= s // 2) | ((i - j) % s == 0)),
    ),
    mistake(
        "only the last keys",
        "Each query sees the last `stride` keys alone: that is a window. Which keys further back "
        "belong to the pattern?",
        lambda i, j, s: (j <= i) & (i - j < s),
    ),
    mistake(
        "only each stride-th key",
        "Each query sees every stride-th key and nothing between. Which keys near its own belong "
        "to the pattern?",
        lambda i, j, s: (j <= i) & ((i - j) % s == 0),
    ),
    mistake(
        "`&` for `|`",
        "A key must pass both conditions, so only the own one does. Each of the two heads of the "
        "paper has one of them: how are two sets joined?",
        lambda i, j, s: (j <= i) & (i - j < s) & ((i - j) % s == 0),
    ),
    mistake(
        "the near part too short by one",
        "One near key is missing. With stride 3, which three keys are less than 3 back?",
        lambda i, j, s: (j <= i) & ((i - j < s - 1) | ((i - j) % s == 0)),
    ),
    mistake(
        "the stride off by one",
        "The far keys are not a multiple of the stride back. Count the distance of the own key: "
        "from 0 or from 1?",
        lambda i, j, s: (j <= i) & ((i - j < s) | ((i - j + 1) % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j < s) | ((i - j - 1) % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j < s) | ((i - j) % (s + 1) == 0)),
        lambda i, j, s: (j <= i) & ((i - j < s) | ((i - j) % max(1, s - 1) == 0)),
        lambda i, j, s: (j <= i) & ((i - j <= s) | ((i - j) % (s + 1) == 0)),
    ),
    mistake(
        "the near part too long",
        "More near keys are seen than `stride`. Which keys are less than `stride` back, the own "
        "one counted?",
        lambda i, j, s: (j <= i) & ((i - j <= s + 1) | ((i - j) % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j < 2 * s) | ((i - j) % s == 0)),
    ),
    mistake(
        "columns instead of distances",
        "All queries see the same far keys, whatever their own place: the key's number was divided "
        "by the stride, and not how far back it lies.",
        lambda i, j, s: (j <= i) & ((i - j < s) | (j % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j < s) | (j % s == s - 1)),
        lambda i, j, s: (j <= i) & ((i - j < s) | ((j + 1) % s == 0)),
    ),
    mistake(
        "rows instead of distances",
        "Some queries see their whole past and others only the near keys. The rule is about how "
        "far back a key lies, not about the query's number.",
        lambda i, j, s: (j <= i) & ((i - j < s) | (i % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j < s) | ((i + j) % s == 0)),
    ),
    mistake(
        "blocks for the near part",
        "The near keys are those of the query's own block, so some queries see few of them. How "
        "far back does `stride` reach from each query?",
        lambda i, j, s: (j <= i) & ((i // s == j // s) | ((i - j) % s == 0)),
        lambda i, j, s: (j <= i) & ((i // s == j // s) | (j % s == s - 1)),
    ),
    mistake(
        "own key left out",
        "A query does not see itself. 0 is less than `stride`, and a multiple of it: which "
        "comparison leaves it out?",
        lambda i, j, s: (j < i) & ((i - j < s) | ((i - j) % s == 0)),
        lambda i, j, s: (j < i) & ((i - j <= s) | ((i - j) % s == 0)),
        lambda i, j, s: (j <= i) & ((i - j < s) ^ ((i - j) % s == 0)),
    ),
    mistake(
        "only one key further back",
        "The far keys end after the first: each multiple of the stride counts, down to the first "
        "key.",
        lambda i, j, s: (j <= i) & ((i - j < s) | (i - j == s)),
        lambda i, j, s: (j <= i) & ((i - j < s) | (i - j == 2 * s)),
    ),
    mistake(
        "every key of the past",
        "The whole past is seen: this is the causal mask. What does the pattern leave out?",
        lambda i, j, s: j <= i,
    ),
    axes_mistake(strided_mask),
)
