"""Exercise: what plain and flash attention move to and from a GPU's large memory."""

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.measure import hbm_traffic

RIGHT = """
def hbm_traffic(num_tokens, d, sram_elements):
    matrix = num_tokens * d
    table = num_tokens * num_tokens
    keys = -(-sram_elements // (4 * d))
    blocks = -(-num_tokens // keys)
    once = 2 * matrix
    again = 3 * matrix + 4 * num_tokens
    standard = 4 * matrix + 4 * table
    flash = once + blocks * again
    return standard, flash
"""


def _other_blocks(args: tuple[int, ...], got: tuple[int, int]) -> bool:
    """Return whether the flash count is right for some other number of keys per block."""
    num_tokens, d, _ = args
    once, again = 2 * num_tokens * d, 3 * num_tokens * d + 4 * num_tokens
    blocks, rest = divmod(got[1] - once, again)
    return got[0] == hbm_traffic(*args)[0] and not rest and 1 <= blocks <= num_tokens


STANDARD = (
    mistake("tables of N × N counted too few times", "Plain attention moves more than that. Which of its steps write a "
            "table of N × N, and which read one?", "standard = 4 * matrix + 2 * table",
            "standard = 4 * matrix + 3 * table", "standard = 4 * matrix + table", "standard = 4 * matrix"),
    mistake("tables of N × N counted too many times", "Plain attention moves less than that. Which tables of N × N are "
            "there, and how often does each of them cross?",
            "standard = 4 * matrix + 5 * table", "standard = 4 * matrix + 6 * table",
            "standard = 4 * matrix + 8 * table", "standard = 8 * matrix + 4 * table"),
    mistake("inputs or output left out of the plain count", "Not all tables of N × d were counted for plain attention. "
            "What goes in, and what comes out?",
            "standard = 3 * matrix + 4 * table", "standard = 4 * table", "standard = 2 * matrix + 4 * table",
            "standard = matrix + 4 * table", "standard = 4 * num_tokens + 4 * table"),
    mistake("arithmetic counted", "These are operations, N × N × d of them. What is asked for is how many numbers "
            "cross between the two memories.", "standard = 4 * table * d", "standard = 4 * matrix + 4 * table * d",
            "standard = 2 * table * d", "return 4 * table * d, 4 * table * d"),
)

BLOCKS = (
    mistake("keys per block rounded down", "The number of keys per block was rounded down. The algorithm says ⌈M / "
            "4d⌉; and what would a memory smaller than 4d hold?", "keys = max(1, sram_elements // (4 * d))",
            "keys = sram_elements // (4 * d)", "keys = max(1, round(sram_elements / (4 * d)))",
            "blocks = max(1, num_tokens // max(1, sram_elements // (4 * d)))"),
    mistake("the short last block dropped", "The number of blocks was rounded down: the keys left over are never read. "
            "How many blocks does it take to hold all N?",
            "blocks = num_tokens // keys", "blocks = max(1, num_tokens // keys)", "blocks = round(num_tokens / keys)",
            "blocks = num_tokens // keys + 1", "blocks = num_tokens // keys\nonce = 2 * blocks * keys * d"),
    mistake("the short last block counted as full", "The last block of keys and values was counted as long as the "
            "others. Where N is not a multiple of B_c it is shorter: how many keys and values are there in all?",
            "once = 2 * blocks * keys * d"),
    mistake("blocks not rounded", "A fraction of a block was counted. A block is loaded whole or not at all: which two "
            "quotients are rounded up?", "flash = int(once + num_tokens / (sram_elements / (4 * d)) * again)",
            "flash = int(once + num_tokens / keys * again)",
            "blocks = math.ceil(num_tokens / (sram_elements / (4 * d)))", "blocks = -(-4 * matrix // sram_elements)",
            "blocks = int(num_tokens / (sram_elements / (4 * d)))", "blocks = num_tokens / keys"),
    mistake("another share of the memory", "The number of keys per block is not ⌈M / 4d⌉. Blocks of "
            "queries, keys, values and output share the memory, and each row takes d elements.",
            "keys = -(-sram_elements // d)", "keys = sram_elements", "keys = -(-sram_elements // 4)",
            "keys = -(-sram_elements // (5 * d))", "keys = -(-sram_elements * d // 4)", matches=_other_blocks),
    mistake("the block of queries taken for that of keys", "The block was made no larger than d. That limit holds for "
            "B_r, the queries per block; T_c counts blocks of B_c keys.",
            "keys = min(-(-sram_elements // (4 * d)), d)", "keys = max(-(-sram_elements // (4 * d)), d)"),
    mistake("the number of keys per block taken for the number of blocks", "The traffic was multiplied by the keys per "
            "block, not by the blocks. How often are all queries read?",
            "flash = once + keys * again", "flash = once + keys * blocks * again",
            "flash = once + blocks * blocks * again", "flash = once + num_tokens * again"),
)

FLASH = (
    mistake("queries and output counted once", "The queries and the output were counted for a single block of keys. "
            "For how many blocks does the inner loop go over all of them?",
            "flash = once + again", "flash = 4 * matrix", "flash = 4 * matrix + 4 * num_tokens",
            "flash = 5 * matrix + blocks * 4 * num_tokens", "flash = once + blocks * 3 * matrix + 4 * num_tokens"),
    mistake("keys and values left out", "Keys and values are read too, each of them once. They are not counted, or "
            "only one is.", "once = 0", "once = matrix"),
    mistake("keys and values read for every block", "Keys and values were counted again for every block. In this "
            "algorithm the outer loop goes over them: how often does a block of keys come in?",
            "flash = blocks * (2 * matrix + again)", "once = 3 * matrix", "once = 4 * matrix"),
    mistake("the later algorithm", "Here the queries stay and keys and values are read again for every block: that is "
            "FlashAttention-2. The exercise counts algorithm 1 of the first paper.", "again = 2 * matrix",
            "flash = once + num_tokens + blocks * 2 * matrix", "flash = matrix + blocks * 2 * matrix"),
    mistake("the output written but not read", "The running output is read, rescaled and written for every block of "
            "keys. How many tables of N × d is that together with the queries?",
            "again = 2 * matrix + 4 * num_tokens", "again = matrix + 4 * num_tokens",
            "again = 4 * matrix + 4 * num_tokens"),
    mistake("the queries counted once", "The queries were counted once. Every block of keys meets all of them: how "
            "often are they read?", "once = 3 * matrix\nagain = 2 * matrix + 4 * num_tokens"),
    mistake("nothing read for the first block", "For the first block of keys, what was there before was not counted as "
            "read: the output, l and m. Algorithm 1 writes zeros first, and reads them as it reads everything later.",
            "flash = once + blocks * again - matrix - 2 * num_tokens"),
    mistake("l and m left out", "For every block, two more numbers per query are read and written, l and m. They are "
            "not all counted.",
            "again = 3 * matrix", "again = 3 * matrix + 2 * num_tokens", "again = 3 * matrix + num_tokens",
            "again = 3 * matrix + 3 * num_tokens", "again = 3 * matrix + 4", "again = 3 * matrix + 4 * matrix"),
    mistake("the order of growth alone", "N²d² / M is how the traffic grows, not how much it is. The exercise counts "
            "every term.", "flash = table * d * d // sram_elements", "flash = -(-table * d * d // sram_elements)",
            "flash = 4 * table * d * d // sram_elements", "flash = table * d * d / sram_elements"),
    mistake("tables of N × N in flash", "N × N numbers were counted for flash attention. Which table of that size "
            "leaves the fast memory?", "flash = once + blocks * again + table", "return standard, standard",
            "flash = once + blocks * again + 2 * table"),
)

RETURNED = (
    mistake("bytes instead of elements", "These are bytes, 2 or 4 per element. The exercise counts elements.",
            "return 2 * standard, 2 * flash", "return 4 * standard, 4 * flash", "return 8 * standard, 8 * flash"),
    mistake("the two swapped", "Flash came first. The order is standard, then flash.", "return flash, standard"),
    mistake("the ratio instead of the counts", "What came back is computed from the two counts. Return both, as they "
            "are.", "return standard / flash", "return standard - flash"),
    mistake("a float", "The counts are not Python ints: `/` gives a float, and a float loses the last "
            "digits of a large count. Which division keeps an int?",
            "return float(standard), float(flash)", "return standard, float(flash)", "return float(standard), flash",
            "return int(float(standard)), int(float(flash))", "return standard, int(float(flash))",
            "return int(float(standard)), flash"),
    mistake("a tensor", "The counts came as tensors. Return Python ints, which have no largest number.",
            "return torch.tensor(float(standard)), torch.tensor(float(flash))",
            "return torch.tensor([float(standard), float(flash)])"),
    NOTHING,
)

EXERCISE = exercise(
    hbm_traffic,
    right=RIGHT,
    asks="Count the elements that plain and flash attention read and write in large memory.",
    minutes=10,
    difficulty=2,
    importance=4,
    parts=("standard", "flash"),
    cases=(
        case("12 tokens of width 5, blocks of 3 keys", given(12, 5, 60)),
        case("24 tokens of width 7, blocks of 4 keys", given(24, 7, 112)),
        case("a last block that is short", given(23, 7, 112)),
        case("a memory that 4d does not divide", given(30, 7, 150)),
        case("neither divides", given(101, 6, 130)),
        case("1,024 tokens of width 64, 25,600 elements", given(1024, 64, 25600)),
        case("a memory that holds everything", given(9, 5, 10_000)),
        case("a memory of less than one block", given(13, 8, 5)),
        case("more keys in a block than the width", given(50, 3, 97)),
        case("one token", given(1, 4, 33)),
        case("every size is 1", given(1, 1, 1)),
        case("8,192 tokens of width 128, 58,000 elements", given(8192, 128, 58000)),
        case("counts that a float cannot hold", given(3_000_000_019, 127, 123_456_789)),
    ),
    mistakes=(*STANDARD, *BLOCKS, *FLASH, *RETURNED),
    hints=(
        "List the tensors that cross between the two memories in algorithm 1. Which of them cross once, and which "
        "for every block of keys?",
        "How many blocks are there? Two quotients are rounded up, one after the other; `-(-a // b)` does that in whole "
        "numbers.",
        "What is read *and* written counts twice. How many elements do all queries hold, and how many does l hold?",
        "By hand, for 12 tokens of width 5 and a memory of 60: 3 keys per block, so 4 blocks; 120 elements cross once, "
        "228 for each block.",
    ),
)
