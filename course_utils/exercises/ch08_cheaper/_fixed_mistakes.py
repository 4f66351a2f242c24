"""What goes wrong in the fixed pattern."""

from course_utils.attention import fixed_mask
from course_utils.exercises.ch06_masks._mask_kinds import wrong_kinds
from course_utils.exercises.ch08_cheaper._patterns import axes_mistake, mistake

FIXED = (
    *wrong_kinds(fixed_mask),
    mistake(
        "not causal",
        "The pattern reaches into the future. Which keys may a query never see, summaries too?",
        lambda i, j, b, c: (i // b == j // b) | (j % b >= b - c),
        lambda i, j, b, c: ((i // b == j // b) & (j <= i)) | (j % b >= b - c),
        lambda i, j, b, c: (i // b == j // b) | ((j % b >= b - c) & (j <= i)),
    ),
    mistake(
        "the future instead of the past",
        "Each query sees keys after its own. On which side of the diagonal does the past stand?",
        lambda i, j, b, c: (j >= i) & ((i // b == j // b) | (j % b >= b - c)),
        lambda i, j, b, c: (j >= i) & ((i // b == j // b) | (i % b >= b - c)),
    ),
    mistake(
        "one key of the future seen",
        "Each query sees the next key too. On which diagonal does the past end?",
        lambda i, j, b, c: (j <= i + 1) & ((i // b == j // b) | (j % b >= b - c)),
    ),
    mistake(
        "the strided pattern",
        "These are a window and every block-th key before it: the strided pattern. In the fixed "
        "one, blocks stand still and all queries see the same far keys.",
        lambda i, j, b, c: (j <= i) & ((i - j < b) | ((i - j) % b == 0)),
    ),
    mistake(
        "places compared instead of blocks",
        "Keys at the query's own place in their block are seen, and not its block. Which of "
        "quotient and remainder is the number of a block?",
        lambda i, j, b, c: (j <= i) & ((i % b == j % b) | (j % b >= b - c)),
        lambda i, j, b, c: (j <= i) & ((i / b == j / b) | (j % b >= b - c)),
    ),
    mistake(
        "only the own block",
        "Each query sees its own block alone, and nothing of those before. What does `summary` "
        "open?",
        lambda i, j, b, c: (j <= i) & (i // b == j // b),
    ),
    mistake(
        "only the summaries",
        "Each query sees the ends of blocks alone. Which keys of its own block belong to the "
        "pattern?",
        lambda i, j, b, c: (j <= i) & (j % b >= b - c),
    ),
    mistake(
        "`&` for `|`",
        "A key must be in the own block and a summary at once. Each of the two heads of the paper "
        "has one of the conditions: how are two sets joined?",
        lambda i, j, b, c: (j <= i) & (i // b == j // b) & (j % b >= b - c),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) ^ (j % b >= b - c)),
    ),
    mistake(
        "summaries at the beginning of a block",
        "The first keys of each block are seen by all. A summary can only know of its block what "
        "came before it: at which end should it stand?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b < c)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b <= c)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b >= c)),
    ),
    mistake(
        "one summary key too many or too few",
        "The summary is longer or shorter by one than `summary` says. For block 4 and summary 1, "
        "which remainder does the last key of a block leave?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b > b - c)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b >= b - c - 1)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b > b - c - 2)),
    ),
    mistake(
        "one summary key only",
        "One key of each block is seen by all, whatever `summary` says. How many are there?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b == b - 1)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b == b - c)),
    ),
    mistake(
        "a window instead of the own block",
        "The near keys are the last `block` ones, so they reach into the block before. Where does "
        "the query's own block begin?",
        lambda i, j, b, c: (j <= i) & ((i - j < b) | (j % b >= b - c)),
        lambda i, j, b, c: (j <= i) & ((i - j <= b) | (j % b >= b - c)),
    ),
    mistake(
        "distances instead of columns",
        "The far keys move along with the query, as in the strided pattern. Here they are fixed: "
        "which of the two numbers is divided by the block?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | ((i - j) % b >= b - c)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | ((i - j) % b < c)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | ((i - j) % b == 0)),
    ),
    mistake(
        "summary queries instead of summary keys",
        "Some queries see their whole past. The summaries are keys that everyone sees: which axis "
        "do they stand on?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (i % b >= b - c)),
    ),
    mistake(
        "the block before seen too",
        "All of the block before is seen. Only its summary belongs to the pattern.",
        lambda i, j, b, c: (j <= i) & ((i // b - j // b <= 1) | (j % b >= b - c)),
    ),
    mistake(
        "only the last summary seen",
        "The summary of the block before is seen and none further back. Which blocks hand one "
        "over?",
        lambda i, j, b, c: (
            (j <= i) & ((i // b == j // b) | ((i // b - j // b == 1) & (j % b >= b - c)))
        ),
    ),
    mistake(
        "own key left out",
        "A query does not see itself. Which comparison leaves it out?",
        lambda i, j, b, c: (j < i) & ((i // b == j // b) | (j % b >= b - c)),
    ),
    mistake(
        "blocks counted from 1",
        "The blocks begin one position too early or too late. To which block does position 0 "
        "belong, and to which position `block`?",
        lambda i, j, b, c: (j <= i) & (((i + 1) // b == (j + 1) // b) | ((j + 1) % b >= b - c)),
        lambda i, j, b, c: (j <= i) & (((i + 1) // b == (j + 1) // b) | (j % b >= b - c)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | ((j + 1) % b >= b - c)),
    ),
    mistake(
        "block and summary exchanged",
        "The number given as the summary was used as the block. In which order do they come?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % max(c, 1) == 0)),
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % max(c, 1) == max(c, 1) - 1)),
    ),
    mistake(
        "a summary of 0 taken for all",
        "With summary 0 the whole past is seen: `-0:` is a slice of everything. What should be "
        "left then?",
        lambda i, j, b, c: (j <= i) & ((i // b == j // b) | (j % b >= (b - c) % b)),
    ),
    mistake(
        "every key of the past",
        "The whole past is seen: this is the causal mask. What does the pattern leave out?",
        lambda i, j, b, c: j <= i,
    ),
    axes_mistake(fixed_mask),
)
