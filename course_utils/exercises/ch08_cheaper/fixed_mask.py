"""Exercise: the fixed pattern of the sparse Transformer."""

from course_utils.attention import fixed_mask
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.masks import AXES, KINDS, PAST, left_out, rows_tell

RIGHT = """
def fixed_mask(num_positions, block, summary):
    i = torch.arange(num_positions).unsqueeze(-1)
    j = torch.arange(num_positions)
    past = j <= i
    own = i // block == j // block
    is_summary = j % block >= block - summary
    pattern = own | is_summary
    mask = past & pattern
    return mask
"""

EXERCISE = exercise(
    fixed_mask,
    right=RIGHT,
    asks="Let each query see its own block, and the last `summary` keys of every earlier block.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        case("17 positions, blocks of 5, summary 2", given(17, 5, 2)),
        case("12 positions, blocks of 4, summary 1", given(12, 4, 1)),
        case("11 positions, blocks of 3, summary 2: a block is cut short", given(11, 3, 2)),
        case("14 positions, blocks of 6, summary 3", given(14, 6, 3)),
        case("summary as long as the block: the whole past", given(9, 3, 3)),
        case("blocks of 1", given(6, 1, 1)),
        case("no summary", given(10, 4, 0)),
        case("a block longer than the sequence", given(5, 8, 2)),
        case("1 position, blocks of 2, summary 1", given(1, 2, 1)),
        case("64 positions, blocks of 8, summary 2", given(64, 8, 2)),
        case("100 positions, blocks of 7, summary 3", given(100, 7, 3)),
    ),
    mistakes=(
        *KINDS,
        left_out(),
        *saying(
            adding(without(PAST, "only its own key"), {
                "not causal": ("mask = (past & own) | is_summary", "mask = own | (past & is_summary)"),
                "the future instead of the past": ("past = j >= i\nis_summary = i % block >= block - summary",),
            }),
            {
                "not causal": "The pattern reaches into the future. Which keys may a query never see, summaries too?",
                "the future instead of the past": "Each query sees keys after its own. On which side of the diagonal "
                "is the past?",
                "one key of the future seen": "Each query sees the next key too. On which diagonal does the past end?",
                "own key hidden": "A query does not see itself. Which comparison leaves it out?",
            },
        ),
        mistake("the strided pattern", "These are a window and every block-th key before it: the strided pattern. In "
                "the fixed one, blocks do not move and all queries see the same far keys.",
                "pattern = (i - j < block) | ((i - j) % block == 0)"),
        mistake("places compared instead of blocks", "Keys at the query's own place in their block are seen, and not "
                "its block. Which of quotient and remainder is the number of a block?",
                "own = i % block == j % block"),
        mistake("a division with fractions", "Of its own block, a query sees itself alone. `/` leaves fractions, and "
                "these are equal for one position only: which division gives the number of a block?",
                "own = i / block == j / block"),
        mistake("only its own block", "Each query sees its own block alone, and nothing of those before. What does "
                "`summary` open?", "pattern = own"),
        mistake("only the summaries", "Each query sees the ends of blocks alone. Which keys of its own block belong to "
                "the pattern?", "pattern = is_summary"),
        mistake("both conditions required", "A key must be in the query's own block and a summary at "
            "once. Each of the two "
                "heads of the paper has one of the conditions: how are two sets joined?",
                "pattern = own & is_summary"),
        mistake("either, but not both", "A summary of the query's own block is hidden, since both conditions hold for "
                "it. `^` asks for exactly one: which operator joins two sets?", "pattern = own ^ is_summary",
                "pattern = own != is_summary"),
        mistake("summaries at the beginning of a block", "The first keys of each block are seen by all. A summary "
                "knows only what came before it in its block: at which end should it be?",
                "is_summary = j % block < summary", "is_summary = j % block <= summary",
                "is_summary = j % block >= summary"),
        mistake("one summary key too many or too few", "The summary is longer or shorter by one than `summary` says. "
                "For block 4 and summary 1, which remainder does the last key of a block leave?",
                "is_summary = j % block > block - summary", "is_summary = j % block >= block - summary - 1"),
        mistake("one summary key only", "One key of each block is seen by all, whatever `summary` says. How many are "
                "there?", "is_summary = j % block == block - 1", "is_summary = j % block == block - summary"),
        mistake("a window instead of its own block", "The near keys are the last `block` ones, so they reach into the "
                "block before. Where does the query's own block begin?", "own = i - j < block", "own = i - j <= block"),
        mistake("distances instead of columns", "The far keys move along with the query, as in the strided pattern. "
                "Here they are fixed: which of the two numbers is divided by the block?",
                "is_summary = (i - j) % block >= block - summary", "is_summary = (i - j) % block < summary",
                "is_summary = (i - j) % block == 0"),
        mistake("summary queries instead of summary keys", "Some queries see their whole past. The summaries are keys "
                "that everyone sees: on which axis are they?", "is_summary = i % block >= block - summary"),
        mistake(
            "the block before seen too",
            "All of the block before is seen. Only its summary belongs to the pattern.",
            "own = i // block - j // block <= 1",
        ),
        mistake("only the last summary seen", "The summary of the block before is seen and none further back. Which "
                "blocks contribute one?",
                "is_summary = (i // block - j // block == 1) & (j % block >= block - summary)"),
        mistake("the summary moved by one",
                "There are as many summary keys as there should be, but they stand one place "
                "too early. With blocks of 4 and one summary key, which key is it: 2 or 3?",
                "is_summary = (j % block >= block - summary - 1) & (j % block < block - 1)"),
        mistake("one block's summary left out", "The summary of one block is seen by none, or not by the block that "
                "follows. Which numbers does your `range` of blocks give?",
                "is_summary = (j % block >= block - summary) & (j // block != 0)",
                "is_summary = (j % block >= block - summary) & (j // block != i // block - 1)"),
        mistake("the short block left out", "The last block, which the sequence cuts short, was never filled. How many "
                "blocks are there if the length is not a multiple of `block`?",
                "own = (i // block == j // block) & (i // block < num_positions // block)",
                "mask = past & pattern & (i // block < num_positions // block)"),
        mistake("the two heads kept apart", "There are two masks, one for each head of the paper. Here one head sees "
                "what both of them see: what joins two sets?",
                "return torch.stack((past & own, past & is_summary))", "return past & own, past & is_summary",
                "return torch.stack((past & is_summary, past & own))", "return past & is_summary, past & own"),
        mistake("blocks counted from 1", "The blocks begin one position too early or too late. To which block does "
                "position 0 belong, and to which position `block`?",
                "own = (i + 1) // block == (j + 1) // block\nis_summary = (j + 1) % block >= block - summary",
                "own = (i + 1) // block == (j + 1) // block", "is_summary = (j + 1) % block >= block - summary",
                "own = (i - 1) // block == (j - 1) // block",
                "own = (i - 1) // block == (j - 1) // block\nis_summary = (j - 1) % block >= block - summary"),
        mistake("block and summary swapped", "The number given as the summary was used as the block. In which order do "
                "they come?",
                "is_summary = j % max(summary, 1) == 0", "is_summary = j % max(summary, 1) == max(summary, 1) - 1"),
        mistake("a summary of 0 taken for all", "With summary 0 the whole past is seen: `-0:` is a slice of "
                "everything. What should be left then?", "is_summary = j % block >= (block - summary) % block"),
        mistake("every key of the past", "The whole past is seen: this is the causal mask. What does the pattern leave "
                "out?", "mask = past"),
        AXES,
    ),
    laws=rows_tell("query i sees key j <= i in its own block, or where j mod block >= block - summary", fixed_mask),
    hints=(
        "Cut 12 positions into blocks of 4. Which keys does query 9 see of its own block, and which one of each block "
        "before, if the summary is one key?",
        "`//` says in which block a position is, `%` at which place of it.",
        "A key is seen where it shares the block or is a summary, and is not ahead of the query.",
    ),
)
