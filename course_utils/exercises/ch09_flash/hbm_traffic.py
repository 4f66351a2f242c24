"""Exercise: what plain and flash attention move to and from a GPU's large memory."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch09_flash._traffic_mistakes import MISCONCEPTIONS
from course_utils.measure.traffic import hbm_traffic

EXERCISE = Exercise(
    name="hbm_traffic",
    chapter=9,
    signature="hbm_traffic(num_tokens, d, sram_elements)",
    asks="Count the elements that plain and flash attention read and write in large memory.",
    reference=hbm_traffic,
    minutes=10,
    difficulty=2,
    importance=4,
    parts=("standard", "flash"),
    cases=(
        Case("12 tokens of width 5, blocks of 3 keys", given(12, 5, 60)),
        Case("24 tokens of width 7, blocks of 4 keys", given(24, 7, 112)),
        Case("a last block that is short", given(23, 7, 112)),
        Case("a memory that 4d does not divide", given(30, 7, 150)),
        Case("neither divides", given(101, 6, 130)),
        Case("1,024 tokens of width 64, 25,600 elements", given(1024, 64, 25600)),
        Case("a memory that holds everything", given(9, 5, 10_000)),
        Case("a memory of less than one block", given(13, 8, 5)),
        Case("more keys in a block than the width", given(50, 3, 97)),
        Case("one token", given(1, 4, 33)),
        Case("one of everything", given(1, 1, 1)),
        Case("65,536 tokens of width 128, 58,000 elements", given(65536, 128, 58000)),
        Case("counts that a float cannot hold", given(3_000_000_019, 127, 123_456_789)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "Plain attention first: Q, K, V and the output are N × d each. Which tables of N × N are "
        "written, and which of them are read again?",
        "The scores are written and read, and so are the weights: four times N × N.",
        "Flash holds a block of keys and values, and for it goes over all queries: it reads Q and "
        "the output, writes the output, and reads and writes two numbers a query. K and V "
        "themselves are read once.",
        "Four blocks share the fast memory: M / 4d keys fit, rounded up, and so many blocks hold N "
        "keys, rounded up too. Both roundings in whole numbers: `-(-a // b)` rounds up.",
    ),
)
