"""Exercise: how much Q Kᵀ computes for each byte that it moves."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.exercises.shared.counts import MULTIPLY_ADD, SIZE, conditional, flag
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.measure.roofline import matmul_intensity

RIGHT = """
def matmul_intensity(num_queries, num_keys, d_k, bytes_per_element, count_output):
    size = bytes_per_element
    is_counted = count_output
    per_multiply_add = 2
    work = per_multiply_add * num_queries * num_keys * d_k
    read = (num_queries + num_keys) * d_k
    written = num_queries * num_keys
    moved = (read + (written if is_counted else 0)) * size
    intensity = work / moved
    return intensity
"""


def _is_rounded(args: tuple[Any, ...], got: float) -> bool:
    return any(got == round(matmul_intensity(*args), digits) for digits in range(6))


WORK = (
    *saying(MULTIPLY_ADD, {
        "multiplications only": "The work is half of what it should be. What else is done besides multiplying?",
    }),
    mistake("one addition less than agreed", "A sum of d_k terms has one addition less, but the convention here is 2 "
            "for every multiply-add.", "work = num_queries * num_keys * (2 * d_k - 1)"),
    mistake("the width left out of the work", "Each pair was counted as one multiply-add. How many products does one "
            "score sum up?",
            "work = 2 * num_queries * num_keys", "work = num_queries * num_keys", "work = 2 * num_queries * d_k"),
    mistake("one length for both in the work", "The work does not depend on one of the two lengths as it should. How "
            "many pairs of a query and a key are there?", "work = 2 * num_queries * num_queries * d_k",
            "work = 2 * num_keys * num_keys * d_k", "work = 2 * num_queries * d_k * d_k"),
    mistake("more than the scores counted", "More work was counted than Q Kᵀ: the softmax or the product with the "
            "values. Those come after it.", "work = 4 * num_queries * num_keys * d_k",
            "work = 3 * num_queries * num_keys * d_k",
            *(f"work = 2 * num_queries * num_keys * d_k + {n} * num_queries * num_keys" for n in (1, 2, 3, 4, 5)),
            "work = 4 * num_queries * num_keys * d_k\nread = (num_queries + 2 * num_keys) * d_k"),
)

INPUTS = (
    mistake("only one input read", "Bytes are missing: only one of the two inputs is read, or none. What has to come "
            "from memory before the product?", "read = num_queries * d_k", "read = num_keys * d_k", "read = d_k"),
    mistake("one length for both inputs", "Query and key were taken to be equally long. How many rows does each have?",
            "read = 2 * num_queries * d_k", "read = 2 * num_keys * d_k"),
    mistake("inputs read again for every pair", "Each input is read again and again, as without a cache. Here each "
            "number is read once.", "read = 2 * num_queries * num_keys * d_k", "read = num_queries * num_keys * d_k",
            "read = num_queries * d_k + num_queries * num_keys * d_k",
            "read = num_queries * num_keys * d_k + num_keys * d_k"),
    mistake("the width left out of the bytes", "A query was counted as one number. How many numbers is it?",
            "read = num_queries + num_keys", "read = num_queries + num_keys * d_k",
            "read = num_queries * d_k + num_keys"),
    mistake("the values read too", "A third input was read. Q Kᵀ has two: the values come later.",
            "read = (num_queries + 2 * num_keys) * d_k", "read = 3 * num_queries * d_k", "read = 3 * num_keys * d_k"),
)

OUTPUT = (
    mistake("the inputs counted twice", "The bytes of both inputs are twice too many. They are read once, and not "
            "written back.", "read = 2 * (num_queries + num_keys) * d_k"),
    mistake("output bytes forgotten", "The bytes of the output are missing from the denominator, though `count_output` "
            "is True. "
            "How many scores are written, and how many bytes are they?", "is_counted = False", "written = 1",
            "moved = read * size\nintensity = (work + (written if is_counted else 0)) / moved",
            "moved = read * size\nintensity = (work + (written * size if is_counted else 0)) / moved"),
    mistake("output always counted", "The output is counted though `count_output` is False: a fused kernel never "
            "writes it. Where is the flag used?", "is_counted = True"),
    *only(
        flag("count_output", "is_counted", ignored="",
             turned="Counting the output raises the intensity here. More bytes for the same work: which way should it "
                    "go?"),
        "count_output the wrong way round",
    ),
    mistake("output bytes subtracted", "Counting the output takes bytes away, so that it raises the intensity. What "
            "does writing it do to the bytes that move?", "written = -num_queries * num_keys"),
    mistake("the output's shape wrong", "The output is not as large as was counted. What shape does (L, d_k) times "
            "(d_k, S) have?", "written = num_queries * d_k", "written = num_keys * d_k",
            "written = num_queries * num_keys * d_k", "written = num_queries**2", "written = num_keys**2",
            "written = num_queries + num_keys", "written = d_k * d_k", "written = num_queries * num_keys / 2",
            "written = num_queries", "written = num_keys"),
    mistake("output written and read again", "The scores count twice. They are written once; who reads them again is "
            "another step.", *(f"written = {n} * num_queries * num_keys" for n in (2, 3, 4))),
    mistake("the output instead of the inputs", "With the output counted, the inputs no longer are. Which bytes move "
            "in all?", "moved = (written if is_counted else read) * size"),
    conditional("moved = (read + written if is_counted else 0) * size"),
)

UNITS = (
    *adding(
        saying(without(SIZE, "size = 1 / 8", "size = bytes_per_element**2"), {
            "numbers instead of bytes": "The work is divided by how many numbers move, not by their bytes. Where does "
                "`bytes_per_element` act?",
            "a size of number assumed": "The bytes of one number do not follow `bytes_per_element`. Which size was "
                "written as a number?",
            "bits and bytes confused": "The intensity is eight times too low or too high. How many bits does a byte "
                "have, and which of the two is asked for?",
        }),
        {"numbers instead of bytes": ("moved = read + (written * size if is_counted else 0)",)},
    ),
    mistake("bytes multiplied into the work", "Larger numbers raise the intensity here. If each number has more bytes, "
            "are there more or fewer operations per byte?",
            "size = 1 / bytes_per_element", "size = bytes_per_element**-2"),
    mistake("bytes per operation", "The fraction is upside down: these are bytes per operation. Which of the two is "
            "divided by which?", "intensity = moved / work"),
    mistake("no FLOP per byte", "This is not FLOP per byte: the operations alone, the bytes alone, or another unit. An "
            "intensity is one divided by the other.",
            "intensity = float(work)", "intensity = float(moved)", "intensity = float(work * moved)",
            "intensity = float(work - moved)", "intensity = work / moved / 1e9", "intensity = work / moved / 1e12"),
    mistake("bytes per element squared", "The bytes of one number count twice over. What reads or writes one number "
            "moves how many bytes?", "size = bytes_per_element**2"),
    mistake("bytes multiplied where they add", "The bytes of two tensors were multiplied by each other. How many bytes "
            "do both move together?",
            "read = num_queries * d_k * num_keys * d_k", "read = num_queries * d_k * num_keys * d_k * size"),
    mistake("brackets forgotten", "The last factors multiply instead of dividing: `a / b * c` is `(a / b) * c`. Which "
            "factors belong in the denominator?", "intensity = work / (num_queries + num_keys) * d_k * size",
            "intensity = work / size * (read + (written if is_counted else 0))",
            "intensity = work / num_queries * d_k + num_keys * d_k + (written if is_counted else 0)"),
    mistake("rounded", "Digits were lost: the result is rounded or cut. An intensity is seldom whole; which division "
            "keeps its fraction?", "intensity = float(work // moved)", "intensity = round(work / moved)",
            "intensity = round(work / moved, 2)", matches=_is_rounded),
    mistake("a tensor", "The intensity came as a tensor. What turns a single number into Python's float?",
            *(f"intensity = torch.tensor(work / moved{dtype})" for dtype in ("", ", dtype=torch.float64"))),
    NOTHING,
)

# Wrong only where the output is counted.
WITH_OUTPUT = {
    "numbers instead of bytes": ("moved = read * size + (written if is_counted else 0)",),
    "a size of number assumed": tuple(f"moved = read * size + (written * {n} if is_counted else 0)" for n in (4, 2)),
    "bytes multiplied where they add": ("moved = read * (written if is_counted else 1) * size",),
    "brackets forgotten": tuple(
        f"intensity = work / read / size {sign} (written * size if is_counted else 0)" for sign in "+-"
    ),
}

EXERCISE = exercise(
    matmul_intensity,
    right=RIGHT,
    asks="Divide the operations of Q Kᵀ by the bytes that it reads, and writes if they count.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        case("inputs only: 7 queries, 11 keys, width 19, 4 bytes", given(7, 11, 19, 4, False)),
        case("the same with the output", given(7, 11, 19, 4, True)),
        case("more queries than keys, 2 bytes", given(11, 4, 6, 2, False)),
        case("the same with the output again", given(11, 4, 6, 2, True)),
        case("8 bytes", given(6, 10, 3, 8, False)),
        case("8 bytes, with the output", given(6, 10, 3, 8, True)),
        case("one query: a step of generating", given(1, 1000, 64, 2, False)),
        case("one query, with the output", given(1, 1000, 64, 2, True)),
        case("1 byte and width 1", given(4, 9, 1, 1, True)),
        case("512 queries and keys in half precision", given(512, 512, 64, 2, False)),
        case("the same with the output, once more", given(512, 512, 64, 2, True)),
        case("far more keys than queries", given(300, 20_000, 128, 2, True)),
    ),
    mistakes=(
        *WORK,
        *INPUTS,
        *OUTPUT,
        *adding(UNITS, WITH_OUTPUT),
    ),
    hints=(
        "Three counts first: how many operations, how many numbers read, how many written?",
        "Q is (L, d_k), K is (S, d_k), the scores are (L, S). One score sums up d_k products.",
        "Every number that moves has `bytes_per_element` bytes, the written ones too. Mind the brackets: what is in "
        "the denominator?",
    ),
)
